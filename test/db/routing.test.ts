/**
 * Routing under contention in a real Postgres, on many connections as waybill_data: what memory cannot
 * show. Verdicts come from the rows.
 */
import { Client } from 'pg';
import type { Database } from '../../src/db/database';
import { actionTargetResolver } from '../../src/db/routes';
import { tenantId } from '../../src/domain/ids';
import type { ReserveAnswer } from '../../src/domain/routes';
import { ANYWHERE, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { imbalance } from '../support/recount';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase, testPool } from '../support/test-database';

let db: TestDatabase;
let rig: Rig;
let pool: Database;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  pool = testPool(db.url, 'waybill_data', { maxConnections: 32 });
});
afterEach(async () => {
  await pool.close();
  await db.drop();
});

const names = (count: number, prefix = 'a') =>
  Array.from({ length: count }, (_, nth) => `${prefix}${nth}`);
const wide = () => actionTargetResolver(pool, ANYWHERE);
const reserveAll = (actions: readonly string[]) =>
  Promise.all(actions.map((action) => wide().reserveRoute(rig.request(action))));
const startAll = (actions: readonly string[]) =>
  Promise.all(actions.map((action) => rig.start(action)));
const kinds = (answers: readonly ReserveAnswer[]) => new Set(answers.map(({ kind }) => kind));

test('32 reservations at once on one replica of capacity 100 are 32 routes', async () => {
  await rig.account();
  await rig.host({ replica: 'h1', capacity: 100 });
  await startAll(names(32));
  expect(kinds(await reserveAll(names(32)))).toEqual(new Set(['reserved']));
  expect((await rig.registry.fleet.status()).activeAssignments).toBe(32);
  expect(await imbalance(db)).toEqual([]);
});

test('100 at once, on a connection each, are all told the truth: a route, or that others are at it', async () => {
  await rig.account();
  await rig.host({ replica: 'h1', capacity: 100 });
  const actions = names(100);
  await startAll(actions);
  const crowd = testPool(db.url, 'waybill_data', { maxConnections: 100 });
  const resolver = actionTargetResolver(crowd, ANYWHERE);
  const told = await Promise.all(
    actions.map((action) => resolver.reserveRoute(rig.request(action))),
  );
  await crowd.close();
  expect(['reserved', 'contended']).toEqual(expect.arrayContaining([...kinds(told)]));
  // Whoever asks again finds its route, or takes one.
  expect(kinds(await reserveAll(actions))).toEqual(new Set(['reserved']));
  expect((await rig.registry.fleet.status()).activeAssignments).toBe(100);
  expect(await imbalance(db)).toEqual([]);
});

test('with room for 20 only, 20 of 32 are routed and the others told the truth', async () => {
  await rig.account();
  await rig.host({ replica: 'h1', capacity: 20 });
  await startAll(names(32));
  const answers = await reserveAll(names(32));
  expect(answers.filter(({ kind }) => kind === 'reserved')).toHaveLength(20);
  const refused = answers.filter(({ kind }) => kind !== 'reserved');
  expect(refused.every((answer) => 'why' in answer && answer.why === 'at_capacity')).toBe(true);
});

test('200 duplicates of one action at once converge on one attempt', async () => {
  await rig.account({ quota: 'one' });
  await rig.fixture.change({ quota: { id: 'one', limits: { tenant: 1 } } });
  for (const replica of ['h1', 'h2', 'h3']) await rig.host({ replica });
  const starts = await Promise.all(names(50).map(() => rig.start('same')));
  expect(starts.filter(({ kind }) => kind === 'started')).toHaveLength(1);
  const answers = await reserveAll(Array.from({ length: 200 }, () => 'same'));
  const fences = answers.map((answer) =>
    answer.kind === 'reserved' ? answer.reservation.fence : answer.kind,
  );
  expect(new Set(fences).size).toBe(1);
  expect(await rig.fixture.held()).toEqual({ 'tenant acme': 1 });
  expect(await imbalance(db)).toEqual([]);
});

test('a replica row that is locked is passed over at once; when all are, the answer is contended', async () => {
  await rig.account();
  for (const replica of ['h1', 'h2']) await rig.host({ replica });
  const holder = new Client({ connectionString: db.url });
  await holder.connect();
  try {
    await startAll(['a1', 'a2', 'a3']);
    await holder.query(`begin; select from waybill.replicas where replica_id = 'h1' for update`);
    // One after the other: two at once may pass over each other's row, too.
    const routed = [...(await reserveAll(['a1'])), ...(await reserveAll(['a2']))];
    const hosts = routed.map((one) => (one.kind === 'reserved' ? one.route.replicaId : one.kind));
    expect(hosts).toEqual(['h2', 'h2']);
    await holder.query('select from waybill.replicas for update');
    expect(await reserveAll(['a3'])).toEqual([{ kind: 'contended', retryInMs: 50 }]);
  } finally {
    await holder.end();
  }
  expect(kinds(await reserveAll(['a3']))).toEqual(new Set(['reserved']));
});

test('crossing quota scopes: no deadlock, no overbooking, nothing leaks', async () => {
  await rig.account({ instance: 'one', quota: 'shared', spread: true });
  await rig.account({ instance: 'two', quota: 'shared', spread: true });
  const limits = { binding: 8, instance: 8, connector: 12, tenant_retry: 4, tenant: 10, global: 9 };
  await rig.fixture.change({ quota: { id: 'shared', limits } });
  for (const [replica, instance] of [
    ['h1', 'one'],
    ['h2', 'one'],
    ['h3', 'two'],
    ['h4', 'two'],
  ] as const) {
    await rig.host({ replica, instance, capacity: 50 });
  }
  const before = await deadlocks();
  const actions = names(100);
  await startAll(actions);
  const refusals = new Set<string>();
  const work = async (action: string, attemptNo: number) => {
    const answer = await wide().reserveRoute({ ...rig.request(action), attemptNo });
    if (answer.kind !== 'reserved') {
      refusals.add(answer.kind);
      return;
    }
    const settlement = attemptNo === 1 ? 'not_started' : 'completed';
    const { fence } = answer.reservation;
    const at = { tenantId: tenantId('acme'), actionId: action, fence, settlement } as const;
    await wide().settleRoute({ ...at, unknownCause: null, evidence: {} });
  };
  for (const attemptNo of [1, 2]) {
    await Promise.all(actions.map((action) => work(action, attemptNo)));
  }
  expect([...refusals].filter((kind) => kind !== 'capacity_exceeded')).toEqual([]);
  expect(await rig.fixture.held()).toEqual({});
  expect(await imbalance(db)).toEqual([]);
  expect(await deadlocks()).toBe(before);
});

async function deadlocks(): Promise<unknown> {
  const [row] = await db.rows<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  );
  return row?.deadlocks;
}

test('settle, sweep, retry and drain at once leave counters equal to open attempts', async () => {
  await rig.account({ quota: 'all' });
  const limits = { binding: 100, connector: 100, tenant_retry: 100, tenant: 100, global: 100 };
  await rig.fixture.change({ quota: { id: 'all', limits } });
  await rig.host({ replica: 'h1', capacity: 100 });
  await rig.host({ replica: 'h2', capacity: 100 });
  const actions = names(40);
  await startAll(actions);
  const fences = (await reserveAll(actions)).map((answer) =>
    answer.kind === 'reserved' ? answer.reservation.fence : 0,
  );
  await rig.fixture.elapse(19_000);
  const { fleet } = rig.registry;
  await Promise.all([
    ...actions.map((action, nth) => rig.settle(action, fences[nth] ?? 0, 'not_started')),
    ...actions.map((action, nth) =>
      wide().extendReservation(
        { tenantId: tenantId('acme'), actionId: action, fence: fences[nth] ?? 0 },
        5_000,
      ),
    ),
    ...actions.map((action) => wide().reserveRoute({ ...rig.request(action), attemptNo: 2 })),
    ...[rig.call('h1', 'offline'), fleet.sweep(20), fleet.sweep(20), fleet.sweep(20)],
  ]);
  expect(await imbalance(db)).toEqual([]);
  await rig.fixture.elapse(60_000);
  for (let nth = 0; nth < 5; nth += 1) await fleet.sweep(20);
  expect(await fleet.status()).toMatchObject({ openAttempts: 0, activeAssignments: 0 });
  expect(await rig.fixture.held()).toEqual({});
});

test.each(['reserve', 'settle'] as const)(
  'a backend killed inside %s leaves everything as it was',
  async (what) => {
    await rig.account({ quota: 'one' });
    await rig.fixture.change({ quota: { id: 'one', limits: { tenant: 1, global: 1 } } });
    await rig.host({ replica: 'h1' });
    await rig.start('a1');
    const fence = what === 'settle' ? (await rig.reserved('a1')).reservation.fence : 0;
    const before = await rig.fixture.held();
    const victim = new Client({ connectionString: db.url, options: '-c role=waybill_data' });
    const died = new Promise((resolve) => victim.on('error', resolve));
    await victim.connect();
    const [pid] = (await victim.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
    await victim.query('begin');
    if (what === 'reserve') {
      const request = JSON.stringify(rig.request('a1'));
      const values = ['acme', 'a1', request, JSON.stringify(ANYWHERE)];
      await victim.query('select waybill.reserve_route($1, $2, $3, $4)', values);
    } else {
      const settle = { settlement: 'completed', unknownCause: null, evidence: {} };
      const values = ['acme', 'a1', fence, JSON.stringify(settle)];
      await victim.query('select waybill.settle_route($1, $2, $3, $4)', values);
    }
    await db.rows('select pg_terminate_backend($1)', [pid?.pid]);
    await died;
    expect(await rig.fixture.held()).toEqual(before);
    expect(await imbalance(db)).toEqual([]);
    if (what === 'reserve') await rig.reserved('a1');
    else expect(await rig.settle('a1', fence, 'completed')).toEqual({ kind: 'settled' });
    expect(await imbalance(db)).toEqual([]);
  },
);

test('above a window of eight a tier is sampled, and full replicas are passed over', async () => {
  await rig.account();
  for (const replica of names(12, 'h')) await rig.host({ replica, capacity: 1 });
  await startAll(names(13));
  const hosts: string[] = [];
  for (const action of names(12)) hosts.push((await rig.reserved(action)).route.replicaId);
  expect(new Set(hosts).size).toBe(12);
  const full = { kind: 'replica_unavailable', why: 'at_capacity' };
  expect(await rig.reserve('a12')).toMatchObject(full);
});
