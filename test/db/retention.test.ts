/**
 * Retention of actions in a real Postgres: what goes, what stays, and that nobody waits for it. Time
 * passes by moving the stored instants.
 */
import { Client } from 'pg';
import { readAction } from '../../src/db/action-steps';
import { showAction } from '../../src/db/action-lists';
import { findDeliveryAction } from '../../src/db/delivery-actions';
import { retainActions } from '../../src/db/route-upkeep';
import { tenantId } from '../../src/domain/ids';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { receive } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { cancelAction } from '../support/test-signer';

let db: TestDatabase;
let rig: Rig;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account();
  await rig.host({ replica: 'h1', capacity: 100 });
});
afterEach(() => db.drop());

const retain = (limit = 100) => retainActions(db.as('waybill_operations'), limit);
const ref = (actionId: string) => ({ tenantId: tenantId('acme'), actionId });
const NOTHING = { actions: 0, artifacts: 0, tombstones: 0 };

async function count(table: string): Promise<number> {
  const [row] = await db.rows<{ n: number }>(`select count(*)::integer as n from waybill.${table}`);
  return row?.n ?? -1;
}

/** Cancelled before it was sent, after one reservation. */
async function closed(actionId: string): Promise<void> {
  await rig.reserved(actionId);
  await cancelAction(db, 'acme', actionId);
}

async function age(days: number): Promise<void> {
  await db.rows(
    `update waybill.actions set closed_at = closed_at - make_interval(days => $1)
      where closed_at is not null`,
    [days],
  );
}

test('closed actions go with routes and attempts when their time is over, oldest first', async () => {
  for (const id of ['a1', 'a2', 'a3']) await closed(id);
  await rig.reserved('open');
  expect(await retain()).toEqual(NOTHING);
  await age(29);
  expect(await retain()).toEqual(NOTHING);
  await age(2);
  expect(await retain(2)).toEqual({ ...NOTHING, actions: 2 });
  expect(await count('action_tombstones')).toBe(2);
  expect((await rig.start('a3')).action.version).toBeGreaterThan(1);
  expect(await retain(2)).toEqual({ ...NOTHING, actions: 1 });
  expect([await count('actions'), await count('routes'), await count('route_attempts')]).toEqual([
    1, 1, 1,
  ]);
});

test('how long they are kept is a setting, read at use', async () => {
  await closed('a1');
  await age(2);
  expect(await retain()).toEqual(NOTHING);
  await db.rows('update waybill.settings set action_retention_days = 1');
  expect(await retain()).toEqual({ ...NOTHING, actions: 1 });
});

test('what is left answers reading, starting and cancelling, and names no body', async () => {
  await closed('a1');
  await age(31);
  await retain();
  expect(await readAction(db.as('waybill_data'), ref('a1'))).toMatchObject({
    ...{ state: 'cancelled', attempt: null, connectorId: null },
    result: { outcome: 'cancelled', resultSha256: null, errorCode: null },
  });
  expect(await showAction(db.as('waybill_data'), ref('a1'))).toMatchObject({
    ...{ state: 'cancelled', requestedBy: 'ada', route: null, attempts: [] },
    removedAt: expect.stringMatching(/^\d{4}-/) as string,
  });
  expect(await cancelAction(db, 'acme', 'a1')).toMatchObject({ kind: 'already' });
});

test('bytes go a day after the last action that had them, and no sooner', async () => {
  await closed('a1');
  await age(31);
  expect(await retain()).toEqual({ ...NOTHING, actions: 1 });
  expect(await count('artifacts')).toBe(1);
  await db.rows(`update waybill.artifacts set release_at = release_at - interval '25 hours'`);
  expect(await retain()).toEqual({ ...NOTHING, artifacts: 1 });
  expect(await count('artifacts')).toBe(0);
});

test('bytes that another action has as request or result are kept', async () => {
  const start = (actionId: string) =>
    rig.registry.ledger.startAction({
      ...{ ...ref(actionId), capabilityId: 'tickets.create', request: Buffer.from('{}') },
      ...{ affinityKey: null, requestedBy: 'ada', deadlineMs: 60_000, retryBudget: 0 },
      attendAfterMs: 1_000,
    });
  await start('a1');
  await start('a2');
  await cancelAction(db, 'acme', 'a1');
  await age(31);
  await retain();
  await db.rows(`update waybill.artifacts set release_at = release_at - interval '25 hours'`);
  await retain();
  expect(await db.rows('select release_at from waybill.artifacts')).toEqual([{ release_at: null }]);
  await db.rows(`update waybill.actions set state = 'failed', result_outcome = 'failed',
    result_sha256 = sha256('{}'), request_sha256 = sha256('other'), closed_at = clock_timestamp(),
    attend_at = null where action_id = 'a2'`);
  await db.rows(`update waybill.artifacts set release_at = clock_timestamp()`);
  await retain();
  expect(await count('artifacts')).toBe(1);
});

test('bytes that evidence is about are kept, whoever else had them', async () => {
  await closed('a1');
  await db.rows(
    `insert into waybill.evidence_statements (evidence_id, connector_id, version, kind,
        artifact_digest, content_digest, content_ref, verdict, signer, issued_at, statement)
      select 'e', v.connector_id, v.version, 'conformance', repeat('a', 64), repeat('a', 64),
          format('artifact:%s/%s', k.tenant_id, encode(k.sha256, 'hex')), 'pass', 'x', now(), 'jws'
        from waybill.connector_versions v, waybill.artifacts k`,
  );
  await age(31);
  await retain();
  await db.rows(`update waybill.artifacts set release_at = release_at - interval '25 hours'`);
  await retain();
  expect(await db.rows('select release_at from waybill.artifacts')).toEqual([{ release_at: null }]);
});

test('bytes that are stored again while they wait to go are kept', async () => {
  await closed('a1');
  await age(31);
  await retain();
  await db.rows(`update waybill.artifacts set release_at = release_at - interval '25 hours'`);
  const keep = `select waybill.keep_action_artifact('acme', sha256(content), content)
    from waybill.artifacts`;
  await db.rows(keep);
  expect(await retain()).toEqual(NOTHING);
  expect(await count('artifacts')).toBe(1);
});

test("a delivery's bytes are not an action's to remove, whoever stored them first", async () => {
  const acme = await insertCatalog(db);
  const payload = Buffer.from('{"same":true}');
  await rig.registry.ledger.startAction({
    ...{ ...ref('a1'), capabilityId: 'tickets.create', request: payload, affinityKey: null },
    ...{ requestedBy: 'ada', deadlineMs: 60_000, retryBudget: 0, attendAfterMs: 1_000 },
  });
  await receive(db, acme, { payload });
  await cancelAction(db, 'acme', 'a1');
  await age(31);
  expect(await retain()).toEqual({ ...NOTHING, actions: 1 });
  expect(await db.rows('select of_delivery, release_at from waybill.artifacts')).toEqual([
    { of_delivery: true, release_at: null },
  ]);
});

test('the action of a delivery that is not over is kept', async () => {
  const acme = await insertCatalog(db);
  const { deliveryId } = await receive(db, acme);
  await closed('a1');
  await db.rows('update waybill.actions set delivery_id = $1', [deliveryId]);
  await age(31);
  expect(await retain()).toEqual(NOTHING);
  await db.rows(`update waybill.deliveries set state = 'Failed', attend_at = null,
    settled_at = clock_timestamp()`);
  expect(await retain()).toEqual({ ...NOTHING, actions: 1 });
});

test('a delivery finds what became of its action also when that is gone', async () => {
  const acme = await insertCatalog(db);
  const delivery = await receive(db, acme);
  const { deliveryId } = delivery;
  const actionId = `${deliveryId}.1`;
  await closed(actionId);
  await db.rows('update waybill.actions set delivery_id = $1', [deliveryId]);
  await db.rows(`update waybill.deliveries set state = 'Failed', attend_at = null,
    settled_at = clock_timestamp()`);
  await age(31);
  await retain();
  const found = await findDeliveryAction(db.as('waybill_data'), delivery);
  expect(found).toMatchObject({ action: { actionId, state: 'cancelled' }, resultHead: null });
});

test('a tombstone goes after its own time, and not before its receipts; then the id is new', async () => {
  await closed('a1');
  await age(31);
  await retain();
  await db.rows(`update waybill.action_tombstones set buried_at = buried_at - interval '399 days'`);
  expect(await retain()).toEqual(NOTHING);
  await db.rows(`update waybill.action_tombstones set buried_at = buried_at - interval '2 days'`);
  expect(await retain()).toEqual(NOTHING);
  // Its next action begins another chain.
  await db.rows('delete from waybill.receipts');
  expect(await retain()).toEqual({ ...NOTHING, tombstones: 1 });
  expect(await rig.start('a1')).toMatchObject({ kind: 'started' });
});

test('what somebody holds is left for the next batch, and nobody waits', async () => {
  for (const id of ['held', 'free']) await closed(id);
  await age(31);
  const holder = new Client({ connectionString: db.url });
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query(`select from waybill.actions where action_id = 'held' for update`);
    expect(await retain()).toEqual({ ...NOTHING, actions: 1 });
  } finally {
    await holder.end();
  }
  expect(await retain()).toEqual({ ...NOTHING, actions: 1 });
});

test('an id that is being started is not buried, and one that is being buried is not started', async () => {
  await closed('a1');
  await age(31);
  const other = new Client({ connectionString: db.url });
  await other.connect();
  try {
    await other.query('begin');
    await other.query(`select pg_advisory_xact_lock_shared(waybill.start_lock('acme', 'a1'))`);
    expect(await retain()).toEqual(NOTHING);
    await other.query('rollback');
    await other.query('begin');
    await other.query('select waybill.retain_actions(10)');
    const starting = rig.start('a1');
    await other.query('commit');
    expect(await starting).toMatchObject({ kind: 'existing', action: { state: 'cancelled' } });
  } finally {
    await other.end();
  }
});

test('many batches beside many starts of the same ids bring none to life again', async () => {
  const ids = Array.from({ length: 30 }, (_, nth) => `a${nth}`);
  for (const id of ids) await closed(id);
  await age(31);
  const starts = ids.flatMap((id) => [rig.start(id), rig.start(id)]);
  const [answers] = await Promise.all([Promise.all(starts), retain(7), retain(7), retain(7)]);
  expect(answers.map(({ kind }) => kind)).not.toContain('started');
  await retain();
  expect([await count('actions'), await count('action_tombstones')]).toEqual([0, 30]);
});
