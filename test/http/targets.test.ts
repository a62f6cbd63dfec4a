/** Targets at work over the API, and pausing them and subscriptions. Real: server, socket, Postgres. */
import type { SwitchAnswer, TargetPage } from '../../src/schemas/api-targets';
import { insertCatalog } from '../support/catalog-fixture';
import { Harness, OPERATE, problem, READ } from './harness';

let h: Harness;
beforeAll(async () => {
  h = await Harness.start();
  for (const subscription of ['a', 'b', 'c']) await insertCatalog(h.db, { subscription });
  await insertCatalog(h.db, { tenant: 'globex', subscription: 'theirs' });
});
afterAll(() => h.stop());

const REASON = { reason: 'maintenance until noon' };
const post = (path: string, more: object = {}) =>
  h.call<SwitchAnswer>(`/factory/${path}`, { json: REASON, ...more });
const list = async (query = '') => (await h.call<TargetPage>(`/factory/targets${query}`)).body;

test('a target that was never in trouble is closed, not paused, and nothing waits', async () => {
  const { targets } = await list();
  expect(targets.map(({ targetId }) => targetId)).toEqual(['a-target', 'b-target', 'c-target']);
  expect(targets[0]).toEqual({
    ...{ targetId: 'a-target', kind: 'http', breaker: 'closed', failures: 0, openUntil: null },
    ...{ pausedAt: null, pausedBy: null, pauseReason: null },
    ...{ drainPerSecond: 10, maxInFlight: 50, inFlight: 0, waiting: 0 },
  });
});

test('pages go by id', async () => {
  const first = await list('?limit=2');
  expect(first.targets).toHaveLength(2);
  const second = await list(`?limit=2&cursor=${first.nextCursor ?? ''}`);
  expect(second.targets.map(({ targetId }) => targetId)).toEqual(['c-target']);
  expect(second.nextCursor).toBeNull();
});

test('a paused target says who paused it and why, and what waits is accepted and counted', async () => {
  expect((await post('targets/a-target/pause')).body).toEqual({
    ...{ id: 'a-target', paused: true, outcome: 'changed' },
  });
  expect((await post('targets/a-target/pause')).body).toMatchObject({ outcome: 'unchanged' });
  expect((await h.post('acme-a-ingress', '{}')).status).toBe(202);
  await h.db.rows(
    `update waybill.deliveries set gate = 'target/a-target', gated_at = clock_timestamp()`,
  );
  const [paused] = (await list()).targets;
  expect(paused).toMatchObject({
    ...{ pausedBy: 'ada@example.test', pauseReason: REASON.reason, waiting: 1 },
    pausedAt: expect.stringMatching(/Z$/) as string,
  });
  expect((await post('targets/a-target/resume')).body).toEqual({
    ...{ id: 'a-target', paused: false, outcome: 'changed' },
  });
  expect((await list()).targets[0]).toMatchObject({ pausedAt: null, pausedBy: null });
});

test('a paused subscription still accepts what it receives', async () => {
  expect((await post('subscriptions/b/pause')).body).toMatchObject({ outcome: 'changed' });
  expect((await h.post('acme-b-ingress', '{}')).status).toBe(202);
  expect((await post('subscriptions/b/resume')).body).toMatchObject({ outcome: 'changed' });
  expect((await post('subscriptions/b/resume')).body).toMatchObject({ outcome: 'unchanged' });
});

test('a deactivated subscription is not resumed', async () => {
  await h.db.rows(
    `update waybill.subscriptions set state = 'deactivated' where subscription_id = 'c'`,
  );
  expect(problem(await post('subscriptions/c/resume'))).toMatchObject({
    ...{ status: 409, code: 'subscription_deactivated' },
  });
});

test.each([
  ['targets/theirs-target/pause'],
  ['targets/nobody/resume'],
  ['subscriptions/theirs/pause'],
  ['subscriptions/nobody/resume'],
])('%s of nobody, or of another tenant, is not found', async (path) => {
  expect(problem(await post(path))).toMatchObject({ status: 404, code: 'not_found' });
});

test('reading needs its scope, switching another one, and a reason', async () => {
  const path = '/factory/targets/a-target/pause';
  const refused = await h.call(path, { json: REASON, scopes: [READ] });
  expect(problem(refused)).toMatchObject({ status: 403 });
  expect(problem(await h.call('/factory/targets', { scopes: [OPERATE] }))).toMatchObject({
    status: 403,
  });
  expect(problem(await h.call(path, { json: { reason: ' ' } }))).toMatchObject({ status: 400 });
});
