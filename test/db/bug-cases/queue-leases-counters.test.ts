/**
 * Faults that others have had with queues, leases and counters in Postgres; each test names the fault
 * that it looks for. Real: Postgres, its locks and errors, the product's calls as their roles. Doubled:
 * the failure itself, by a trigger or a right that is taken away. Verdicts come from the rows.
 */
import { Client } from 'pg';
import { claimUnattended } from '../../../src/db/deliveries';
import { fleetStatusProvider } from '../../../src/db/replicas';
import { actionTargetResolver } from '../../../src/db/routes';
import { tenantId } from '../../../src/domain/ids';
import { ANYWHERE, Rig } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { insertCatalog } from '../../support/catalog-fixture';
import { imbalance } from '../../support/recount';
import { receive } from '../../support/stored-deliveries';
import { createTestDatabase, testPool, type TestDatabase } from '../../support/test-database';
import { until } from '../../support/until';

const LIMITS = { binding: 2, instance: 20, connector: 20, tenant_retry: 20, tenant: 20 };

let db: TestDatabase;
let rig: Rig;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account({ quota: 'all' });
  await rig.fixture.change({ quota: { id: 'all', limits: { ...LIMITS, global: 20 } } });
  await rig.host({ replica: 'h1', capacity: 10 });
});
afterEach(() => db.drop());

const figures = () =>
  db.rows(
    `select (select jsonb_agg(to_jsonb(a) order by a.action_id) from waybill.actions a) as actions,
        (select jsonb_agg(to_jsonb(t)) from waybill.route_attempts t) as attempts,
        (select jsonb_agg(to_jsonb(q) order by q.scope) from waybill.quota_counters q) as counters,
        (select jsonb_agg(r.active_assignments) from waybill.replicas r) as assigned`,
  );

describe('locks that are left behind by a pooled connection', () => {
  const advisory = () =>
    db.rows(
      `select from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`,
    );

  test('none outlives the client that was killed while it held them', async () => {
    await rig.start('a1');
    const client = new Client({ connectionString: db.url, options: '-c role=waybill_data' });
    client.on('error', () => undefined);
    await client.connect();
    await client.query('begin');
    const request = JSON.stringify(rig.request('a1', { affinityKey: 'thread-1' }));
    const values = ['acme', 'a1', request, JSON.stringify(ANYWHERE)];
    await client.query('select waybill.reserve_route($1, $2, $3, $4)', values);
    expect((await advisory()).length).toBeGreaterThan(0);
    await client.end();
    await until('its locks are gone', async () => ((await advisory()).length === 0 ? true : null));
    await rig.reserved('a1');
  });

  test('none is of the session: no function takes one', async () => {
    const functions = await db.rows(
      `select proname from pg_proc where pronamespace = 'waybill'::regnamespace
        and coalesce(pg_get_function_sqlbody(oid), prosrc) ~ 'pg_(try_)?advisory_(lock|unlock)'`,
    );
    expect(functions).toEqual([]);
  });
});

test('a burst of one tenant that is blocked: another tenant’s delivery is claimed within bounded rounds', async () => {
  const acme = await insertCatalog(db, { subscription: 'blocked' });
  const globex = await insertCatalog(db, { tenant: 'globex' });
  for (let nth = 0; nth < 60; nth += 1) await receive(db, acme, { attendAfterMs: 0 });
  const { deliveryId } = await receive(db, globex, { attendAfterMs: 0 });
  await db.rows(`update waybill.subscriptions set state = 'paused', pause_reason = 'target_gone'
    where tenant_id = 'acme'`);
  const rounds: string[][] = [];
  for (let nth = 0; nth < 4; nth += 1) {
    const rows = await claimUnattended(db.as('waybill_operations'), 20, 60_000);
    rounds.push(rows.map((row) => row.delivery_id));
  }
  expect(rounds.flat()).toContain(deliveryId);
});

describe('a conflict that Postgres ends, at any statement or at the commit', () => {
  /** The next so many writes of the table fail; a sequence is not rolled back with them. */
  async function failing(times: number, code: string, at: 'statement' | 'commit'): Promise<void> {
    const table = 'route_attempts';
    await db.rows(`
      create sequence waybill.test_failures;
      create function waybill.test_fail() returns trigger language plpgsql security definer as $$
      begin
        if nextval('waybill.test_failures') <= ${times} then
          raise exception 'lost' using errcode = '${code}';
        end if;
        return null;
      end $$;
      grant execute on function waybill.test_fail() to public;
      create constraint trigger test_fail after insert or update on waybill.${table}
        deferrable initially ${at === 'commit' ? 'deferred' : 'immediate'}
        for each row execute function waybill.test_fail()`);
  }

  test.each([
    ['40P01', 'statement'],
    ['40P01', 'commit'],
    ['40001', 'statement'],
    ['40001', 'commit'],
  ] as const)('%s at the %s is tried again, and counts once', async (code, at) => {
    await rig.start('a1');
    await failing(3, code, at);
    const { reservation } = await rig.reserved('a1');
    expect(await imbalance(db)).toEqual([]);
    await db.rows('alter sequence waybill.test_failures restart');
    expect(await rig.settle('a1', reservation.fence, 'completed')).toEqual({ kind: 'settled' });
    expect(await rig.fixture.held()).toEqual({});
    expect(await imbalance(db)).toEqual([]);
  });

  test.each(['statement', 'commit'] as const)(
    'that never ends at the %s is given up, and leaves everything as it was',
    async (at) => {
      await rig.start('a1');
      const before = await figures();
      await failing(1_000, '40001', at);
      const lost = { code: 'storage_unavailable', retryable: true };
      await expect(rig.registry.resolver.reserveRoute(rig.request('a1'))).rejects.toMatchObject(
        lost,
      );
      expect(await figures()).toEqual(before);
      await db.rows('drop trigger test_fail on waybill.route_attempts');
      const { reservation } = await rig.reserved('a1');
      expect(reservation.attemptNo).toBe(1);
    },
  );
});

describe('a slot that is never given back', () => {
  test('giving back reads no limit: it is possible where the policy cannot be read', async () => {
    const { reservation } = await rig.reserved('a1');
    await db.rows('revoke select on waybill.quota_policies from waybill_data');
    expect(await rig.settle('a1', reservation.fence, 'completed')).toEqual({ kind: 'settled' });
    expect(await rig.fixture.held()).toEqual({});
    await db.rows('grant select on waybill.quota_policies to waybill_data');
  });

  test('a limit lowered while slots are held, and taken away: each comes back once', async () => {
    const fences = [];
    for (const action of ['a1', 'a2']) fences.push((await rig.reserved(action)).reservation.fence);
    await rig.fixture.change({ quota: { id: 'all', limits: { binding: 1 } } });
    await rig.settle('a1', fences[0] ?? 0, 'completed');
    const full = { kind: 'capacity_exceeded', scope: 'binding' };
    expect(await rig.reserve('a3')).toMatchObject(full);
    await db.rows('update waybill.bindings set quota_policy_id = null');
    for (let twice = 0; twice < 2; twice += 1) await rig.settle('a2', fences[1] ?? 0, 'completed');
    expect(await rig.fixture.held()).toEqual({});
    expect(await imbalance(db)).toEqual([]);
  });
});

test('counts that come as text: the tenth of ten is let in and the eleventh is not', async () => {
  await rig.fixture.change({ quota: { id: 'all', limits: { binding: 20 } } });
  const fences = [];
  for (let nth = 1; nth <= 10; nth += 1) {
    fences.push((await rig.reserved(`a${nth}`)).reservation.fence);
  }
  expect(await rig.reserve('a11')).toMatchObject({ kind: 'replica_unavailable' });
  expect(await rig.registry.fleet.status()).toMatchObject({ capacity: 10, activeAssignments: 10 });
  for (const fence of fences) expect(Number.isSafeInteger(fence)).toBe(true);
  expect([...fences].sort((one, other) => one - other)).toEqual(fences);
});

test('a path that asks for a second connection: each works on a pool of one, many at once', async () => {
  const data = testPool(db.url, 'waybill_data', { maxConnections: 1 });
  const operations = testPool(db.url, 'waybill_operations', { maxConnections: 1 });
  const resolver = actionTargetResolver(data, ANYWHERE);
  const actions = ['a1', 'a2', 'a3', 'a4', 'a5'];
  await rig.fixture.change({ quota: { id: 'all', limits: { binding: 20 } } });
  for (const action of actions) await rig.start(action);
  const answers = await Promise.all(
    actions.map(async (action) => {
      const answer = await resolver.reserveRoute(rig.request(action));
      if (answer.kind !== 'reserved') return answer.kind;
      const at = { tenantId: tenantId('acme'), actionId: action };
      const { fence } = answer.reservation;
      await resolver.extendReservation({ ...at, fence }, 30_000);
      const settle = { ...at, fence, settlement: 'completed', unknownCause: null } as const;
      return (await resolver.settleRoute({ ...settle, evidence: {} })).kind;
    }),
  );
  expect(answers).toEqual(actions.map(() => 'settled'));
  const fleet = fleetStatusProvider(operations);
  await Promise.all([fleet.sweep(10), fleet.sweep(10), fleet.status()]);
  const idle = await db.rows(
    `select from pg_stat_activity
      where datname = current_database() and state like 'idle in transaction%'`,
  );
  expect(idle).toEqual([]);
  await Promise.all([data.close(), operations.close()]);
});
