/** `waybill targets` and `waybill subscriptions` against a real server. Asserted: what people read. */
import { SwitchAnswer, TargetPage } from '../../src/schemas/api-targets';
import { Harness, OPERATE, READ } from '../http/harness';
import { insertCatalog } from '../support/catalog-fixture';
import { environmentOf, failureOf, removeHomes, waybill, type Environment } from './waybill';

let h: Harness;
let env: Environment;
beforeAll(async () => {
  h = await Harness.start();
  await insertCatalog(h.db);
  env = await environmentOf(h, READ, OPERATE);
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

test('a target is paused, listed with who and why, and resumed', async () => {
  const paused = await waybill(
    ['targets', 'pause', 'pushes-target', '--reason', 'maintenance'],
    env,
  );
  expect(paused).toMatchObject({
    ...{ code: 0, stderr: '' },
    stdout: 'target pushes-target is paused: its deliveries are accepted and wait\n',
  });
  const listed = await waybill(['targets', 'list'], env);
  expect(listed.stdout).toMatch(/^TARGET +KIND +BREAKER +PAUSED +WAITING +UNDER WAY +DRAINS/);
  expect(listed.stdout).toMatch(
    /^pushes-target +http +closed +since \S+ by ada@example.test: maintenance +0 +0\/50 +10\/s/m,
  );
  const args = ['targets', 'resume', 'pushes-target', '--reason', 'done'];
  const resumed = await waybill([...args, '--json'], env);
  expect(SwitchAnswer.parse(JSON.parse(resumed.stdout))).toMatchObject({ outcome: 'changed' });
  expect((await waybill(args, env)).stdout).toBe(
    'target pushes-target was not paused before: nothing has changed\n',
  );
  const { stdout } = await waybill(['targets', 'list', '--json'], env);
  expect(TargetPage.parse(JSON.parse(stdout)).targets[0]?.pausedAt).toBeNull();
});

test('a subscription is paused and resumed', async () => {
  const switched = async (verb: string) =>
    (await waybill(['subscriptions', verb, 'pushes', '--reason', 'a new address'], env)).stdout;
  expect(await switched('pause')).toContain('pushes is paused');
  expect(await switched('resume')).toContain('what waited goes out at its drain rate');
});

test('what there is not is one clear line', async () => {
  const failed = await waybill(['targets', 'pause', 'nobody', '--reason', 'x'], env);
  expect(failureOf(failed).code).toBe('not_found');
});
