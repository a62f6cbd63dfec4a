/** `waybill capabilities` and `waybill plans`. Real: the command's process, socket, server, Postgres. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { CapabilityDetail, CapabilityPage } from '../../src/schemas/api-capabilities';
import { PlanAnswer } from '../../src/schemas/api-plans';
import { ACTIONS_RUN, Harness } from '../http/harness';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import {
  environmentOf,
  failureOf,
  newHome,
  removeHomes,
  waybill,
  type Environment,
} from './waybill';

const READ = 'factory.catalog.read';

let h: Harness;
let rig: Rig;
let home: string;
let env: Environment;
beforeAll(async () => {
  h = await Harness.start();
  rig = new Rig(postgresFixture(h.db));
  await rig.account();
  await rig.fixture.change({ profiles: { connector: 'tracker', names: ['audit'] } });
  const common = { interfaceName: 'messaging', connector: 'tracker' };
  const instance = { tenant: 'acme', id: 'main' };
  await rig.fixture.change({ offer: { ...common, capability: 'mail.send', instance } });
  await rig.fixture.change({ offer: { ...common, capability: 'chat.send', instance: null } });
  home = newHome();
  env = await environmentOf(h, READ, 'factory.catalog.internal', ACTIONS_RUN);
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

test('capabilities list is a table or JSON, with filters and further pages', async () => {
  const { code, stdout } = await waybill(['capabilities', 'list'], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^CAPABILITY +INTERFACE +SIDE EFFECT +RECOVERY +PROFILES +BOUND$/m);
  expect(stdout).toMatch(/^mail\.send +messaging +read +lookup +audit +yes$/m);
  expect(stdout).not.toContain('chat.send');
  const unbound = await waybill(['capabilities', 'list', '--unbound'], env);
  expect(unbound.stdout).toMatch(/^chat\.send .* no$/m);
  const args = ['capabilities', 'list', '--search', 'mail', '--profile', 'audit', '--json'];
  const page = CapabilityPage.parse(JSON.parse((await waybill(args, env)).stdout));
  expect(page.capabilities.map(({ capabilityId }) => capabilityId)).toEqual(['mail.send']);
  const none = await waybill(['capabilities', 'list', '--interface', 'other'], env);
  expect(none.stdout).toBe('no capability matches\n');
  const first = await waybill(['capabilities', 'list', '--limit', '1'], env);
  expect(first.stdout).toMatch(/more: the same command with --cursor \S+\n$/);
});

test('capabilities show is the contract', async () => {
  const { stdout } = await waybill(['capabilities', 'show', CAPABILITY], env);
  expect(stdout).toMatch(/^capability +tickets\.create$/m);
  expect(stdout).toMatch(/^REQUEST$/m);
  const json = (await waybill(['capabilities', 'show', CAPABILITY, '--json'], env)).stdout;
  expect(CapabilityDetail.parse(JSON.parse(json)).interface).toBe('work-items');
  const unseen = await waybill(['capabilities', 'show', 'chat.send'], env);
  expect(failureOf(unseen).code).toBe('capability_unavailable');
  const bound = await waybill(['capabilities', 'show', 'chat.send', '--unbound'], env);
  expect(bound.stdout).toMatch(/^bound +no/m);
});

test('plans verify judges each step, and its actions start at that revision only', async () => {
  const file = path.join(home, 'plan.json');
  const plan = (capabilityId: string) => {
    const steps = [
      { stepId: 'open', capabilityId: CAPABILITY, request: {} },
      { stepId: 'tell', capabilityId, request: {}, dependsOn: ['open'] },
    ];
    writeFileSync(file, JSON.stringify({ steps }));
  };
  plan('mail.send');
  const good = await waybill(['plans', 'verify', file], env);
  expect(good.code).toBe(0);
  expect(good.stdout).toMatch(/^tell +mail\.send +read +no +fits$/m);
  expect(good.stdout).toMatch(/--if-catalog-revision 0\n$/);
  plan('chat.send');
  const bad = await waybill(['plans', 'verify', file, '--json'], env);
  expect(PlanAnswer.parse(JSON.parse(bad.stdout)).verified).toBe(false);
  expect(failureOf(bad)).toMatchObject({ code: 'plan_not_verified' });
  expect(bad.stderr).toContain('tell: the tenant cannot use chat.send');
  await rig.fixture.change({ published: true });
  const start = ['actions', 'start', CAPABILITY, '--id', 'a1', '--request', '{}'];
  const stale = await waybill([...start, '--if-catalog-revision', '0'], env);
  expect(failureOf(stale).code).toBe('stale_plan');
});

test('plans verify says what it cannot read', async () => {
  const missing = await waybill(['plans', 'verify', path.join(home, 'none.json')], env);
  expect(missing.code).toBe(2);
  writeFileSync(path.join(home, 'wrong.json'), '{"steps": []}');
  const wrong = await waybill(['plans', 'verify', path.join(home, 'wrong.json')], env);
  expect(failureOf(wrong).code).toBe('invalid_request');
});
