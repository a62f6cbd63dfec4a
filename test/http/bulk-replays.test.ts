/**
 * Bulk replays by the API. Real: socket, server, Postgres, row security. Doubled: the nudge of the
 * workflow, whose planning a test does itself.
 */
import type {
  BulkReplay,
  BulkReplayPage,
  ReplayItemPage,
} from '../../src/schemas/api-bulk-replays';
import { planBulkReplay } from '../../src/db/bulk-replays';
import { BULK_REPLAY_MOVES } from '../../src/domain/bulk-replays';
import { replayJobId, tenantId } from '../../src/domain/ids';
import { failedInOneGo } from '../support/bulk-replays';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { Harness, problem } from './harness';

const READ = 'factory.replays.read';
const OPERATE = 'factory.replays.operate';
const NOBODYS = '0198c1f0-0000-7000-8000-000000000000';

let h: Harness;
let hook: CatalogFixture;

beforeAll(async () => {
  h = await Harness.start();
  hook = await insertCatalog(h.db);
  await insertCatalog(h.db, { tenant: 'rival' });
  await failedInOneGo(h.db, hook, 12);
});
afterAll(() => h.stop());
afterEach(async () => {
  await h.db.rows(`update waybill.replay_jobs set state = 'finished', finished_at = now()
    where finished_at is null`);
});

const call = <Body = Record<string, unknown>>(
  path: string,
  json?: unknown,
  options: { readonly tenant?: string; readonly scopes?: readonly string[] } = {},
) =>
  h.call<Body>(`/v1/replays${path}`, {
    ...{ scopes: [READ, OPERATE], ...options },
    ...(json === undefined ? {} : { json }),
  });

/** A job whose plan is made. */
async function planned(body: object = {}): Promise<string> {
  const answer = await call<BulkReplay>('', { reason: 'target repaired', ...body });
  expect(answer.status).toBe(202);
  const ref = { tenantId: tenantId('acme'), jobId: replayJobId(answer.body.jobId) };
  await planBulkReplay(h.db.as('waybill_data'), ref, { batch: 1_000, most: 10 });
  return ref.jobId;
}

test('a job is made, planned, and shown with count, oldest, newest, sample and estimate', async () => {
  const made = await call<BulkReplay>('', {
    filter: { subscription: hook.subscription, reason: 'status_refused' },
    reason: 'target repaired',
    ratePerSecond: 5,
  });
  expect(made).toMatchObject({
    status: 202,
    body: { state: 'planning', requestedBy: 'ada@example.test', planned: 0, runBy: null },
  });
  expect(h.nudged).toContain(made.body.jobId);
  const { jobId, workflowId } = made.body;
  expect(workflowId).toBe(`replay/acme/${jobId}`);
  const ref = { tenantId: tenantId('acme'), jobId: replayJobId(jobId) };
  await planBulkReplay(h.db.as('waybill_data'), ref, { batch: 1_000, most: 10 });
  const { body } = await call<BulkReplay>(`/${jobId}`);
  expect(body).toMatchObject({ state: 'planned', planned: 10, truncated: true, left: 10 });
  expect(body).toMatchObject({ estimatedMs: 2_000, ratePerSecond: 5, receipt: null });
  expect(body.sample).toHaveLength(5);
  expect(body.sample[0]?.receivedAt).toBe(body.oldestAt);
  expect(String(body.oldestAt) < String(body.newestAt)).toBe(true);
});

test('moves answer the job; two clicks are one, and what does not fit is refused with its state', async () => {
  const jobId = await planned();
  const refused = problem(await call(`/${jobId}/pause`, {}));
  expect(refused).toMatchObject({ status: 409, code: 'replay_refused', state: 'planned' });
  const moves = [
    ['run', 'running'],
    ['run', 'running'],
    ['pause', 'paused'],
    ['pause', 'paused'],
    ['resume', 'running'],
    ['cancel', 'cancelled'],
    ['cancel', 'cancelled'],
  ];
  for (const [move, state] of moves) {
    const answer = await call<BulkReplay>(`/${jobId}/${move}`, { reason: 'because' });
    expect([move, answer.status, answer.body.state]).toEqual([move, 200, state]);
  }
  expect((await call<BulkReplay>(`/${jobId}`)).body).toMatchObject({
    ...{ runBy: 'ada@example.test', movedBy: 'ada@example.test', movedWhy: 'because' },
  });
  expect(problem(await call(`/${jobId}/run`, {}))).toMatchObject({ state: 'cancelled' });
  const audit = await h.db.rows<{ action: string }>(
    `select action from waybill.audit_log where subject = $1 order by audit_id`,
    [`replay/${jobId}`],
  );
  expect(audit.map(({ action }) => action)).toEqual(
    ['plan', 'run', 'pause', 'resume', 'cancel'].map((move) => `bulk-replay.${move}`),
  );
});

test('a move needs no body', async () => {
  const jobId = await planned();
  const answer = await h.call(`/v1/replays/${jobId}/run`, { method: 'POST', scopes: [OPERATE] });
  expect(answer).toMatchObject({ status: 200, body: { state: 'running' } });
});

test('jobs and their deliveries are listed in pages', async () => {
  const mine = [await planned(), await planned()];
  const first = (await call<BulkReplayPage>('?limit=1&state=planned')).body;
  const cursor = `?limit=1&state=planned&cursor=${String(first.nextCursor)}`;
  const second = (await call<BulkReplayPage>(cursor)).body;
  expect([...first.replays, ...second.replays].map(({ jobId }) => jobId)).toEqual(mine.reverse());
  const [job = ''] = mine;
  const items = (await call<ReplayItemPage>(`/${job}/items?limit=7`)).body;
  const rest = (await call<ReplayItemPage>(`/${job}/items?limit=7&cursor=${items.nextCursor}`))
    .body;
  expect([...items.items, ...rest.items].map(({ position }) => position)).toEqual([
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  ]);
  expect(rest.nextCursor).toBeNull();
  const none = await call<ReplayItemPage>(`/${job}/items?outcome=skipped`);
  expect(none.body.items).toEqual([]);
  const foreign = await call(`/${mine[1] ?? ''}/items?limit=7&cursor=${items.nextCursor}`);
  expect(problem(foreign).code).toBe('invalid_cursor');
});

test('so many jobs are under way at once, and no more', async () => {
  const statuses = [];
  for (let n = 0; n < 21; n += 1) statuses.push(await call('', { reason: 'r' }));
  expect(statuses.filter(({ status }) => status === 202)).toHaveLength(20);
  const [last] = statuses.slice(-1);
  if (last === undefined) throw new Error('there is no answer');
  expect(problem(last)).toMatchObject({ status: 409, code: 'too_many_replays' });
});

test.each([
  ['no reason', {}, 'reason'],
  ['an empty reason', { reason: ' ' }, 'reason'],
  ['an unknown filter', { reason: 'r', filter: { tenant: 'rival' } }, 'filter.tenant'],
  ['a name that is none', { reason: 'r', filter: { subscription: 'A B' } }, 'filter.subscription'],
  ['a reason of failing that is none', { reason: 'r', filter: { reason: 'X' } }, 'filter.reason'],
  ['a time that is none', { reason: 'r', filter: { receivedTo: 'now' } }, 'filter.receivedTo'],
  ['no rate at all', { reason: 'r', ratePerSecond: 0 }, 'ratePerSecond'],
  ['a rate without bounds', { reason: 'r', ratePerSecond: 101 }, 'ratePerSecond'],
  ['half a rate', { reason: 'r', ratePerSecond: 1.5 }, 'ratePerSecond'],
])('a job is not made with %s', async (_what, json, field) => {
  expect(problem(await call('', json))).toMatchObject({ code: 'invalid_request', field });
});

test('another tenant’s job is as unknown as one that never was', async () => {
  const jobId = await planned();
  const rival = { tenant: 'rival' };
  const told = async (id: string) => {
    const answers = [
      await call(`/${id}`, undefined, rival),
      await call(`/${id}/items`, undefined, rival),
    ];
    for (const move of BULK_REPLAY_MOVES) answers.push(await call(`/${id}/${move}`, {}, rival));
    return answers.map((answer) => ({ ...problem(answer), requestId: '' }));
  };
  const foreign = await told(jobId);
  expect(foreign).toEqual(await told(NOBODYS));
  expect(foreign.map(({ status }) => status)).toEqual(foreign.map(() => 404));
  expect((await call<BulkReplay>(`/${jobId}`)).body.state).toBe('planned');
  const theirs = await call<BulkReplayPage>('', undefined, rival);
  expect(theirs.body.replays).toEqual([]);
});

test('reading and operating have scopes of their own', async () => {
  const jobId = await planned();
  const unseen = await call(`/${jobId}`, undefined, { scopes: [OPERATE] });
  expect(problem(unseen).detail).toContain(READ);
  for (const path of ['', `/${jobId}/run`]) {
    const undone = await call(path, { reason: 'r' }, { scopes: [READ] });
    expect(problem(undone)).toMatchObject({ status: 403, code: 'scope_missing' });
  }
  const connections = ['factory.connections.read', 'factory.connections.operate'];
  expect((await call(`/${jobId}`, undefined, { scopes: connections })).status).toBe(403);
});
