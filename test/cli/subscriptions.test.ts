/** `waybill subscriptions` against a real server. Asserted: what people read. */
import { Subscription } from '../../src/schemas/api-subscriptions';
import { Harness, READ } from '../http/harness';
import { insertCatalog } from '../support/catalog-fixture';
import { environmentOf, failureOf, removeHomes, waybill, type Environment } from './waybill';

let h: Harness;
let env: Environment;
beforeAll(async () => {
  h = await Harness.start();
  await insertCatalog(h.db);
  env = await environmentOf(h, READ, 'factory.connections.admin');
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

const CHANGE = ['--events', '*', '--drain', '2', '--lane', 'express'];

const run = (...args: string[]) => waybill(['subscriptions', ...args], env);

test('a subscription is created, found, changed, rotated and ended', async () => {
  const wish = ['--instance', 'main', '--target', 'pushes-target', '--events', 'issues, push'];
  const secret = ['--secret', 'main=env:TEST_INGRESS_SECRET'];
  const made = await run('create', 'issues', ...wish, ...secret);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toMatch(/^event types +issues, push$/m);
  expect(made.stdout).toMatch(/^lane +durable$/m);
  expect(made.stdout).toMatch(
    /TO ENTER AT THE VENDOR\n +address +https:\S+\/webhooks\/[0-9a-f]{32}$/m,
  );
  expect(made.stdout).toMatch(/^ +secret +main: env:TEST_INGRESS_SECRET$/m);

  const listed = await run('list');
  expect(listed.stdout).toMatch(/^SUBSCRIPTION +STATE +INSTANCE/);
  expect(listed.stdout).toMatch(/^issues +active +main/m);
  expect((await run('show', 'issues')).stdout).toBe(made.stdout);

  const changed = await run('change', 'issues', ...CHANGE, '--json');
  const before = Subscription.parse(JSON.parse(changed.stdout));
  expect(before).toMatchObject({ eventTypes: ['*'], drainPerSecond: 2, lane: 'express' });

  const rotated = await run('rotate-ingress', 'issues');
  expect(rotated.stdout).toContain(`${before.ingress?.ref ?? ''} works until`);
  const ended = await run('deactivate', 'issues', '--reason', 'moved away');
  expect(ended.stdout).toMatch(/^state +deactivated$/m);
});

test('what cannot be is one clear line', async () => {
  const failed = await run('change', 'pushes', '--target', 'nobody');
  expect(failureOf(failed).code).toBe('subscription_invalid');
  const missing = await run('show', 'nobody');
  expect(failureOf(missing).code).toBe('not_found');
});
