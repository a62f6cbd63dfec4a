/**
 * A refusal is true of one moment, and comes in bounded time whatever others hold. Real: Postgres, its
 * locks, the product's resolver as waybill_data. Doubled: what happens between two looks of one call, by
 * a function of the test around the search for candidates.
 */
import { Client } from 'pg';
import { actionTargetResolver } from '../../src/db/routes';
import type { ReserveRequest } from '../../src/domain/routes';
import { ANYWHERE, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, testPool, type TestDatabase } from '../support/test-database';

let db: TestDatabase;
let rig: Rig;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
});
afterEach(() => db.drop());

/** After each search for candidates, and before anything else is looked at, this is done. */
async function afterSearching(statement: string): Promise<void> {
  const [{ args, call } = { args: '', call: '' }] = await db.rows<{ args: string; call: string }>(
    `select pg_get_function_arguments(p.oid) as args, array_to_string(p.proargnames, ', ') as call
      from pg_proc p where p.proname = 'candidate_replicas'`,
  );
  await db.rows(`
    alter function waybill.candidate_replicas rename to test_candidates;
    create function waybill.candidate_replicas(${args}) returns text[]
      language plpgsql security definer as $$
    declare
      v_found text[] := waybill.test_candidates(${call});
    begin
      ${statement};
      return v_found;
    end $$;
    grant execute on function waybill.candidate_replicas to waybill_data`);
}

describe('a host that has room before the reason is looked for', () => {
  test.each([
    ['became ready', `status = 'registered'`, `status = 'ready'`],
    ['got a place back', 'active_assignments = 3', 'active_assignments = 0'],
    [
      'had its circuit closed',
      `circuit_open_until = clock_timestamp() + interval '1 minute'`,
      'circuit_open_until = null',
    ],
  ])('because it %s is taken', async (_how, before, after) => {
    await rig.account();
    await rig.host({ replica: 'h1', capacity: 3 });
    await db.rows(`update waybill.replicas set ${before}`);
    await afterSearching(`update waybill.replicas set ${after}`);
    expect(await rig.reserve('a1')).toMatchObject({ kind: 'reserved' });
  });

  test('and none at each further look is not said to be full: others are at it', async () => {
    await rig.account();
    await rig.host({ replica: 'h1', capacity: 3 });
    await db.rows('update waybill.replicas set active_assignments = 3');
    // Free for whoever asks why, full for whoever chooses.
    await afterSearching(`v_found := '{}'; update waybill.replicas set active_assignments = 0`);
    expect(await rig.reserve('a1')).toEqual({ kind: 'contended', retryInMs: 50 });
  });
});

test('a half-open host without a place is full, one without a probe has its circuit open', async () => {
  await rig.account();
  await rig.fixture.change({ settings: { circuitProbes: 1 } });
  await rig.host({ replica: 'h1', capacity: 1 });
  const past = `circuit_open_until = clock_timestamp() - interval '1 second'`;
  await db.rows(`update waybill.replicas set ${past}, active_assignments = 1`);
  expect(await rig.reserve('a1')).toMatchObject({ why: 'at_capacity' });
  await db.rows('update waybill.replicas set active_assignments = 0, probes = 1');
  expect(await rig.reserve('a1')).toMatchObject({ why: 'circuit_open', retryInMs: 250 });
});

test('of very many accounts that share the work the only one with a host is found', async () => {
  await rig.account({ instance: 'i-000', spread: true });
  const more = 'select * from generate_series(1, 100) n';
  for (const table of ['instances', 'credential_revisions', 'bindings']) {
    await db.rows(
      `insert into waybill.${table} select (jsonb_populate_record(x, jsonb_build_object(
          'instance_id', 'i-' || lpad(n::text, 3, '0')))).* from waybill.${table} x, (${more}) m`,
    );
  }
  await rig.host({ replica: 'h1', instance: 'i-100' });
  expect((await rig.reserved('a1')).route.replicaId).toBe('h1');
});

describe('in a fleet of very many zones', () => {
  const zones = Array.from({ length: 150 }, (_, nth) => `z${String(nth).padStart(3, '0')}`);
  const fill = async (capacity: (zone: string) => number) => {
    await rig.account();
    await rig.fixture.change({ settings: { replicaLeaseMs: 600_000 } });
    await rig.host({ replica: 'first', zone: 'z', capacity: 0 });
    // As many as are too slow to be registered one by one.
    await db.rows(
      `insert into waybill.replicas select (jsonb_populate_record(r, jsonb_build_object(
          'replica_id', 'h-' || z.name, 'zone', z.name, 'region', 'r-' || z.name,
          'capacity', z.capacity))).replica_id, r.tenant_id, r.instance_id, r.connector_id, r.version,
          r.endpoint, r.peer_principal_id, r.peer_principal_kind, r.peer_did, r.trust_domain,
          r.transport_profile, 'r-' || z.name, z.name, r.capacity_class, z.capacity
        from waybill.replicas r, unnest($1::text[], $2::integer[]) as z (name, capacity)`,
      [zones, zones.map(capacity)],
    );
    await db.rows(`update waybill.replicas set status = 'ready', lease_ends_at = 'infinity'`);
  };

  test('the only host with room is found, wherever it is', async () => {
    await fill((zone) => (zone === 'z149' ? 1 : 0));
    expect((await rig.reserved('a1')).route.replicaId).toBe('h-z149');
    expect(await rig.reserve('a2')).toMatchObject({ why: 'at_capacity' });
  });

  test('the preferred region comes first, wherever it is', async () => {
    await fill(() => 1);
    await rig.start('a1');
    const { resolver } = rig.fixture.registry({ ...ANYWHERE, region: 'r-z149' });
    const answer = await resolver.reserveRoute(rig.request('a1'));
    expect(answer).toMatchObject({ kind: 'reserved', route: { replicaId: 'h-z149' } });
  });
});

describe('what somebody holds for long is answered as contended, soon', () => {
  const HELD: readonly (readonly [string, string])[] = [
    ['the publication', `select pg_advisory_xact_lock(hashtextextended('waybill.publication', 0))`],
    ['the action', 'select from waybill.actions for update'],
    ['its host', 'select from waybill.replicas for update'],
    [
      'the conversation',
      `select pg_advisory_xact_lock(hashtextextended('acme/thread',
        hashtextextended('waybill.affinity', 0)))`,
    ],
    ['a quota', 'select from waybill.quota_counters for update'],
    ['the rate', 'select from waybill.rate_limits for update'],
  ];

  test.each(HELD)('%s', async (_what, text) => {
    await rig.account({ quota: 'some' });
    await rig.fixture.change({ quota: { id: 'some', limits: { tenant: 9 } } });
    const limit = { permits: 1_000, perMs: 1_000, burst: 1_000 };
    await rig.fixture.change({ rate: { connector: 'tracker', limit } });
    await rig.host({ replica: 'h1' });
    await rig.run('before', 'completed');
    await rig.start('new');
    await toldInTime(text, rig.request('new', { affinityKey: 'thread' }));
  });

  test('its host, where an attempt that is overdue is to be ended first', async () => {
    await rig.account();
    await rig.host({ replica: 'h1' });
    await rig.reserved('late', { holdMs: 1 });
    const asked = rig.request('late', { attemptNo: 2 });
    const kind = 'not_requested';
    await toldInTime('select from waybill.replicas for update', asked, { kind, state: 'unknown' });
  });
});

/** What it answers while another session holds that, and afterwards. */
async function toldInTime(
  held: string,
  asked: ReserveRequest,
  afterwards: object = { kind: 'reserved' },
): Promise<void> {
  const holder = new Client({ connectionString: db.url });
  await holder.connect();
  const patient = testPool(db.url, 'waybill_data', { maxConnections: 1 });
  const resolver = actionTargetResolver(patient, ANYWHERE);
  try {
    await holder.query(`begin; ${held}`);
    const began = performance.now();
    expect(await resolver.reserveRoute(asked)).toEqual({ kind: 'contended', retryInMs: 50 });
    expect(performance.now() - began).toBeLessThan(1_900);
    await holder.query('rollback');
    expect(await resolver.reserveRoute(asked)).toMatchObject(afterwards);
  } finally {
    await holder.end();
    await patient.close();
  }
}
