/**
 * A pooler in transaction mode changes nothing: publishing, hosts, routing and sweeping on backends that
 * are handed on after each transaction, with `preparedStatements: off`. Real: Postgres, and PgBouncer
 * where it is installed (on PATH or in /usr/sbin). Elsewhere the same tests run on one connection that
 * all clients of a role share in turn: what a call leaves on a backend meets the next one there, too.
 */
import { Client } from 'pg';
import type { Database, Row } from '../../src/db/database';
import { actionLedger } from '../../src/db/actions';
import { fleetStatusProvider, registryAdministrator } from '../../src/db/replicas';
import { actionTargetResolver } from '../../src/db/routes';
import { tenantId } from '../../src/domain/ids';
import { readFleet } from '../../src/schemas/fleet';
import { publishFleet } from '../../src/services/publications';
import { ANYWHERE, Rig, requestOf } from '../registry/fixture';
import { memoryFixture } from '../registry/memory-fixture';
import * as documents from '../support/fleet-texts';
import { startPooler, TIMEOUTS, type Pooler } from '../support/pooler';
import { imbalance } from '../support/recount';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const TENANTS = ['acme', 'globex'] as const;

let db: TestDatabase;
let pooler: Pooler;
/** Two processes of the data plane, as it were. */
let data: readonly Database[];

beforeAll(async () => {
  db = await createTestDatabase();
  pooler = await startPooler(db.url);
  data = [pooler.client('waybill_data'), pooler.client('waybill_data')];
  await publish('limits: { binding: 50, connector: 90, tenant: 50, tenantRetry: 50, global: 90 }');
  const hosts = registryAdministrator(pooler.client('waybill_lifecycle'));
  for (const tenant of TENANTS) {
    const call = (nth: number) => {
      return { replicaId: `${tenant}-1`, requestId: `call-${nth}`, previousSequence: nth };
    };
    await hosts.register({ ...call(0), storeEpoch: 'epoch-1' });
    const beat = await hosts.heartbeat({ ...call(1), healthy: true });
    expect(beat).toMatchObject({ kind: 'accepted', status: 'ready' });
  }
});
afterAll(async () => {
  await pooler.stop();
  await db.drop();
});

async function publish(limits: string): Promise<void> {
  const texts = [
    ...[documents.capability(), documents.tracker(), documents.quotaPolicy(limits)],
    ...TENANTS.flatMap((tenant) => [
      documents.account(`tenant: ${tenant}`),
      documents.binding(`tenant: ${tenant}`, 'quotaPolicy: small'),
      documents.replica(`tenant: ${tenant}`, `id: ${tenant}-1`, 'capacity: 50'),
    ]),
  ];
  const fleet = readFleet(documents.fleetOf(...texts), new Map());
  await publishFleet(pooler.client('waybill_control'), fleet, 'ada');
}

const requests = new Rig(memoryFixture());

/** Starts, reserves and settles an action, each step on whichever client. */
async function carryOut(tenant: string, action: string, nth: number): Promise<void> {
  const at = { tenantId: tenantId(tenant), actionId: action };
  const pool = (step: number) => data[(nth + step) % 2] ?? data[0];
  const resolver = (step: number) => {
    const chosen = pool(step);
    if (chosen === undefined) throw new Error('there are two');
    return actionTargetResolver(chosen, ANYWHERE);
  };
  const starter = pool(0);
  if (starter === undefined) throw new Error('there are two');
  const started = await actionLedger(starter).startAction({
    ...{ ...at, capabilityId: 'tickets.create', request: requestOf(action), affinityKey: null },
    ...{ requestedBy: 'ada', deadlineMs: 60_000, retryBudget: 5, attendAfterMs: 2_000 },
  });
  expect(started.kind).toBe('started');
  const answer = await resolver(1).reserveRoute(requests.request(action, at));
  if (answer.kind !== 'reserved') throw new Error(`${action}: ${answer.kind}`);
  expect(answer.route).toMatchObject({ tenantId: tenant, replicaId: `${tenant}-1` });
  expect(await resolver(0).readRoute(tenantId(tenant), action)).toEqual(answer.route);
  const { fence } = answer.reservation;
  const settle = { ...at, fence, settlement: 'completed', unknownCause: null } as const;
  expect(await resolver(1).settleRoute({ ...settle, evidence: {} })).toEqual({ kind: 'settled' });
}

function ask(text: string): Promise<Row[][]> {
  return Promise.all(data.map((pool) => pool.query({ name: 'test_ask', text }, [])));
}

test('actions of two tenants at once are each carried out once, and nothing leaks', async () => {
  const work = TENANTS.flatMap((tenant) =>
    Array.from({ length: 25 }, (_, nth) => carryOut(tenant, `at-once-${nth}`, nth)),
  );
  await Promise.all(work);
  expect(await imbalance(db)).toEqual([]);
  expect(await db.rows('select from waybill.quota_counters where held <> 0')).toEqual([]);
});

test('in turn on one backend, no tenant is left for the next one', async () => {
  for (const [nth, tenant] of [...TENANTS, ...TENANTS].entries()) {
    await carryOut(tenant, `in-turn-${nth}`, nth);
    const none = `select coalesce(current_setting('waybill.tenant', true), '') as tenant,
      (select count(*)::integer from waybill.routes) as routes`;
    expect((await ask(none)).flat()).toEqual([1, 2].map(() => ({ tenant: '', routes: 0 })));
  }
});

test('a call leaves no setting, no statement and no lock on its backend', async () => {
  const settings = `select
    ${Object.keys(TIMEOUTS)
      .map((name) => `current_setting('${name}') as ${name}`)
      .join(', ')},
    (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) as above,
    pg_has_role('waybill_data', 'usage') as data,
    (select count(*)::integer from pg_prepared_statements) as prepared`;
  const before = await ask(settings);
  const each = { ...TIMEOUTS, above: false, data: true, prepared: 0 };
  expect(before.flat()).toEqual([each, each]);
  const holder = new Client({ connectionString: db.url });
  await holder.connect();
  try {
    await holder.query('begin; select from waybill.replicas for update');
    // It waits a second for the only host, with a bound of its own.
    await expect(carryOut('acme', 'contended', 0)).rejects.toThrow('contended: contended');
  } finally {
    await holder.end();
  }
  await publish('limits: { binding: 40, tenant: 40 }');
  const fleet = fleetStatusProvider(pooler.client('waybill_operations'));
  expect(await fleet.sweep(10)).toEqual({ offline: 0, settled: 0 });
  expect(await ask(settings)).toEqual(before);
  const locks = await db.rows(
    `select from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`,
  );
  expect(locks).toEqual([]);
});
