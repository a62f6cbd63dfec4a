/**
 * The server's side of a connection dies in the middle of reserving or settling: after each row that
 * the call writes, and at random under load. Real: Postgres, the product's resolver and audit. A trigger
 * of the test ends the backend; verdicts come from the rows.
 */
import type { Database } from '../../src/db/database';
import { counterDifferences } from '../../src/db/route-upkeep';
import { actionTargetResolver } from '../../src/db/routes';
import { WaybillError } from '../../src/domain/errors';
import { tenantId } from '../../src/domain/ids';
import { ANYWHERE, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { imbalance } from '../support/recount';
import { createTestDatabase, testPool, type TestDatabase } from '../support/test-database';

const LOADED = 'waybill-loaded';
const LIMITS = {
  ...{ binding: 50, instance: 50, connector: 50, tenant_retry: 50, tenant: 50, global: 50 },
};
/** More rows than any call writes. */
const MOST_WRITES = 40;
/** Killed at random: enough to hit every stretch of a call, few enough that the work gets done. */
const MOST_DEATHS = 100;

let db: TestDatabase;
let rig: Rig;
let pool: Database;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  pool = testPool(db.url, 'waybill_data', { maxConnections: 6, applicationName: LOADED });
  await rig.account({ quota: 'all' });
  await rig.fixture.change({ quota: { id: 'all', limits: LIMITS } });
  await rig.fixture.change({ rate: { connector: 'tracker', limit: RATE } });
  await rig.host({ replica: 'h1', capacity: 50 });
});
afterEach(async () => {
  await pool.close();
  await db.drop();
});

/** Wide enough never to refuse. */
const RATE = { permits: 10_000, perMs: 1, burst: 10_000 };

const resolver = () => actionTargetResolver(pool, ANYWHERE);
const reserve = (action: string, attemptNo: number) =>
  resolver().reserveRoute(rig.request(action, { attemptNo }));
const settle = (action: string, fence: number) =>
  resolver().settleRoute({
    ...{ tenantId: tenantId('acme'), actionId: action, fence, settlement: 'not_started' },
    ...{ unknownCause: null, evidence: {} },
  });

/** From now on the call that writes its nth row as waybill_data loses its backend; 0: none does. */
async function dieAt(nth: number): Promise<void> {
  await db.rows('update waybill.test_death set nth = $1', [nth]);
}

async function armed(): Promise<void> {
  await db.rows(`
    create table waybill.test_death (nth integer not null);
    insert into waybill.test_death values (0);
    create function waybill.test_die() returns trigger language plpgsql security definer as $$
    declare
      v_nth integer := coalesce(nullif(current_setting('test.writes', true), ''), '0')::integer + 1;
    begin
      perform set_config('test.writes', v_nth::text, true);
      if v_nth = (select nth from waybill.test_death) then
        perform pg_terminate_backend(pg_backend_pid());
        perform pg_sleep(5);
      end if;
      return null;
    end $$;
    grant execute on function waybill.test_die() to public`);
  const tables = ['actions', 'routes', 'route_attempts', 'replicas', 'quota_counters'];
  for (const table of [...tables, 'rate_limits']) {
    await db.rows(`create trigger test_die after insert or update on waybill.${table}
      for each row when (current_user <> 'postgres') execute function waybill.test_die()`);
  }
}

const unavailable = (error: unknown) =>
  error instanceof WaybillError && error.code === 'storage_unavailable';

/** Kills the call after its first row, its second, …; answers what it says once it is let through. */
async function afterEachRow<Answer>(
  call: () => Promise<Answer>,
): Promise<{ readonly deaths: number; readonly answer: Answer }> {
  const before = await ledger();
  for (let nth = 1; nth <= MOST_WRITES; nth += 1) {
    await dieAt(nth);
    try {
      const answer = await call();
      return { deaths: nth - 1, answer };
    } catch (error) {
      if (!unavailable(error)) throw error;
      expect(await ledger()).toEqual(before);
    } finally {
      await dieAt(0);
    }
  }
  throw new Error('no call writes so much');
}

/** Everything that reserving and settling write. */
async function ledger(): Promise<unknown> {
  const tables = ['actions', 'routes', 'route_attempts', 'replicas', 'quota_counters'];
  const parts = [...tables, 'rate_limits'].map(
    (table) => `(select jsonb_agg(to_jsonb(x) order by x::text) from waybill.${table} x)`,
  );
  return (await db.rows(`select ${parts.join(', ')}`))[0];
}

async function sound(): Promise<void> {
  expect(await imbalance(db)).toEqual([]);
  expect(await counterDifferences(db.as('waybill_operations'), 100)).toEqual([]);
}

test('after any row that reserving or settling writes, it has left everything as it was', async () => {
  await rig.start('a1');
  await armed();
  for (const attemptNo of [1, 2]) {
    const reserved = await afterEachRow(() => reserve('a1', attemptNo));
    // Counters, rate, replica, route, attempt, action; a retry has one counter more.
    expect(reserved.deaths).toBeGreaterThanOrEqual(10);
    if (reserved.answer.kind !== 'reserved') throw new Error(reserved.answer.kind);
    await sound();
    const { fence } = reserved.answer.reservation;
    const settled = await afterEachRow(() => settle('a1', fence));
    expect(settled.deaths).toBeGreaterThanOrEqual(8);
    expect(settled.answer).toEqual({ kind: 'settled' });
    await sound();
  }
  expect(await rig.fixture.held()).toEqual({});
});

test('at random under load, the audit finds nothing, then and afterwards', async () => {
  const actions = Array.from({ length: 20 }, (_, nth) => `a${nth}`);
  for (const action of actions) await rig.start(action);
  const load = { busy: true };
  let deaths = 0;
  const work = Promise.all(actions.map((action) => through(action))).finally(() => {
    load.busy = false;
  });
  while (load.busy && deaths < MOST_DEATHS) {
    const killed = await db.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = $1 and state = 'active'
        order by random() limit 1`,
      [LOADED],
    );
    deaths += killed.length;
    expect(await counterDifferences(db.as('waybill_operations'), 100)).toEqual([]);
  }
  await work;
  expect(deaths).toBeGreaterThan(0);
  await sound();
  expect(await rig.fixture.held()).toEqual({});
  expect((await rig.registry.fleet.status()).openAttempts).toBe(0);
});

/** Two attempts of the action, each reserved and settled, however often the connection breaks. */
async function through(action: string): Promise<void> {
  for (const attemptNo of [1, 2]) {
    const reserved = await again(() => reserve(action, attemptNo));
    if (reserved.kind !== 'reserved') throw new Error(`${action}: ${reserved.kind}`);
    const settled = await again(() => settle(action, reserved.reservation.fence));
    // Whose answer was lost is told so the second time.
    expect(['settled', 'already_settled']).toContain(settled.kind);
  }
}

async function again<Answer extends { readonly kind: string }>(
  call: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      const answer = await call();
      if (answer.kind !== 'contended') return answer;
    } catch (error) {
      if (!unavailable(error)) throw error;
    }
  }
}
