/**
 * Faults that others have had with fences, keys of idempotency and draining nodes; each test names the
 * fault that it looks for. Real: Postgres, its locks, the product's calls as their roles.
 */
import { Client } from 'pg';
import { tenantId } from '../../../src/domain/ids';
import { Rig, requestOf } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { imbalance } from '../../support/recount';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { until } from '../../support/until';

let db: TestDatabase;
let rig: Rig;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account({ quota: 'one' });
  await rig.fixture.change({ quota: { id: 'one', limits: { tenant: 1 } } });
  await rig.host({ replica: 'h1' });
});
afterEach(() => db.drop());

test('a holder that could not extend finishes late: a limit of one is never two', async () => {
  const first = (await rig.reserved('a1')).reservation;
  await rig.fixture.elapse(25_000);
  const at = { tenantId: tenantId('acme'), actionId: 'a1', fence: first.fence };
  // It is told to stop before anybody else is let in.
  expect(await rig.registry.resolver.extendReservation(at, 20_000)).toEqual({ kind: 'fence_lost' });
  expect(await rig.reserve('a2')).toMatchObject({ kind: 'capacity_exceeded' });
  await rig.call('h1', 'heartbeat');
  await rig.registry.fleet.sweep(10);
  await rig.reserved('a2');
  const late = { kind: 'fence_lost', settlement: 'lease_expired' };
  for (let again = 0; again < 3; again += 1) {
    expect(await rig.settle('a1', first.fence, 'completed')).toEqual(late);
    expect(await rig.reserve(`a${again + 3}`)).toMatchObject({ kind: 'capacity_exceeded' });
  }
  expect(await rig.fixture.held()).toEqual({ 'tenant acme': 1 });
  expect(await imbalance(db)).toEqual([]);
});

describe('one id with two requests', () => {
  const start = (action: string, text: string) =>
    rig.registry.ledger.startAction({
      ...{ tenantId: tenantId('acme'), actionId: action, capabilityId: 'tickets.create' },
      ...{ request: requestOf(text), affinityKey: null, requestedBy: 'ada' },
      ...{ deadlineMs: 60_000, retryBudget: 5, attendAfterMs: 2_000 },
    });

  test('at once: one is started, and the other is a conflict, not "in progress"', async () => {
    for (let nth = 0; nth < 10; nth += 1) {
      const both = await Promise.all([start(`k${nth}`, 'one'), start(`k${nth}`, 'other')]);
      expect(both.map(({ kind }) => kind).sort()).toEqual(['conflict', 'started']);
    }
  });

  test('a backend killed between claim and commit: the id is free at once', async () => {
    const client = new Client({ connectionString: db.url, options: '-c role=waybill_data' });
    client.on('error', () => undefined);
    await client.connect();
    const [row] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
    await client.query('begin');
    const fields = { deadlineMs: 60_000, retryBudget: 5, attendAfterMs: 2_000, requestedBy: 'ada' };
    const values = ['acme', 'k1', 'tickets.create', requestOf('one'), JSON.stringify(fields)];
    await client.query('select waybill.start_action($1, $2, $3, $4, $5)', values);
    const waiting = start('k1', 'other');
    await db.rows('select pg_terminate_backend($1)', [row?.pid]);
    expect(await waiting).toMatchObject({ kind: 'started' });
  });
});

describe('a host that drains', () => {
  /** Does it in a transaction of another session; the answered function commits it. */
  async function drainsMeanwhile(): Promise<() => Promise<void>> {
    const client = new Client({ connectionString: db.url });
    await client.connect();
    await client.query(`begin; update waybill.replicas set status = 'draining'`);
    return async () => {
      await client.query('commit');
      await client.end();
    };
  }

  /** Somebody waits for the host's row. */
  const waits = () =>
    until('the reservation waits', async () => {
      const text = `select from pg_stat_activity where wait_event_type = 'Lock'
        and datname = current_database()`;
      return (await db.rows(text)).length > 0 ? true : null;
    });

  test.each([['anew', null] as const, ['by the shortcut of a conversation', 'thread-1'] as const])(
    'between being chosen and being taken gets nothing: %s',
    async (_how, affinityKey) => {
      await rig.fixture.change({ quota: { id: 'one', limits: { tenant: 9 } } });
      if (affinityKey !== null) await rig.reserved('before', { affinityKey });
      await rig.start('a1');
      const commit = await drainsMeanwhile();
      const answer = rig.reserve('a1', { affinityKey });
      await waits();
      await commit();
      expect(await answer).toMatchObject({ kind: 'replica_unavailable', why: 'none_ready' });
      expect(await imbalance(db)).toEqual([]);
    },
  );

  test('still serves what is pinned to it, and once its lease is over that fails closed', async () => {
    await rig.fixture.change({ quota: { id: 'one', limits: { tenant: 9 } } });
    await rig.host({ replica: 'h2' });
    await rig.run('a1', 'not_started');
    const [pinned] = await db.rows<{ host: string }>(
      'select replica_id as host from waybill.routes',
    );
    const host = pinned?.host ?? '';
    await rig.call(host, 'drain');
    const again = await rig.reserved('a1', { attemptNo: 2 });
    expect(again.route.replicaId).toBe(host);
    await rig.settle('a1', again.reservation.fence, 'not_started');
    await rig.fixture.elapse(31_000);
    await rig.call(host === 'h1' ? 'h2' : 'h1', 'heartbeat');
    const closed = { kind: 'replica_unavailable', why: 'pinned_unavailable' };
    expect(await rig.reserve('a1', { attemptNo: 3 })).toMatchObject(closed);
    await rig.registry.fleet.sweep(10);
    const stale = { replicaId: host, requestId: 'old', previousSequence: 1, healthy: true };
    expect(await rig.registry.administrator.heartbeat(stale)).toMatchObject({
      kind: 'stale_sequence',
    });
    expect(await rig.reserve('a1', { attemptNo: 3 })).toMatchObject(closed);
  });
});
