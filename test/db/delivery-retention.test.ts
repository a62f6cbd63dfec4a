/**
 * Retention of deliveries in a real Postgres, as the roles of the product: payloads and rows by tenant and by what
 * became of each. Deliveries, receipts and replays are the product's own; only time is moved by the administrator.
 */
import { Client } from 'pg';
import { readAction } from '../../src/db/action-steps';
import { actionLedger } from '../../src/db/actions';
import { openAttempt } from '../../src/db/deliveries';
import {
  retainDeliveries,
  retainPayloads,
  type RetentionBatch,
} from '../../src/db/delivery-retention';
import { retainActions } from '../../src/db/route-upkeep';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import { DEFAULT_RETENTION } from '../../src/schemas/retention';
import { retainDelivered } from '../../src/services/delivery-retention';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { acknowledged, failed, replay } from '../support/signed-chains';
import { receive, storedDelivery } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { cancelAction } from '../support/test-signer';

let db: TestDatabase;
let acme: CatalogFixture;
beforeEach(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
});
afterEach(() => db.drop());

const operations = () => db.as('waybill_operations');
const never = new AbortController().signal;
const retain = () => retainDelivered(operations(), never);

/** Lets so many days pass for everything that is stored. */
async function elapse(days: number): Promise<void> {
  const by = `make_interval(days => ${days})`;
  await db.rows(
    `update waybill.deliveries set settled_at = settled_at - ${by}, received_at = received_at - ${by}`,
  );
  await db.rows(`update waybill.dedup_keys set expires_at = expires_at - ${by}`);
  await db.rows(`update waybill.artifacts set release_at = release_at - ${by}`);
  await db.rows(`update waybill.payload_marks set through = through - ${by}`);
}

async function count(from: string): Promise<number> {
  const [row] = await db.rows<{ n: number }>(`select count(*)::integer as n from waybill.${from}`);
  return row?.n ?? -1;
}

/** What was let go is removed after a day. */
async function removePayloads(): Promise<void> {
  await retain();
  await elapse(1);
  await retainActions(operations(), 100);
}

test('what a deployment begins with is what the fleet file says it is', async () => {
  const [row] = await db.rows('select retention from waybill.settings');
  expect(row).toEqual({ retention: { ...DEFAULT_RETENTION, tenants: {} } });
});

const bytes = (text: string) => ({ payload: Buffer.from(text) });

test('a payload goes first, then the delivery with all of its own, and its receipts stay', async () => {
  const ref = await acknowledged(db, acme);
  await elapse(13);
  expect(await retain()).toEqual({ payloads: 0, deliveries: 0, more: false });
  await elapse(1);
  expect(await retain()).toEqual({ payloads: 1, deliveries: 0, more: false });
  expect(await count('artifacts')).toBe(1);
  await removePayloads();
  expect([await count('artifacts'), await count('deliveries')]).toEqual([0, 1]);
  expect((await storedDelivery(db, ref)).state).toBe('Acknowledged');
  await elapse(16);
  expect(await retain()).toMatchObject({ deliveries: 1 });
  expect(await Promise.all(['deliveries', 'delivery_attempts', 'dedup_keys'].map(count))).toEqual([
    0, 0, 0,
  ]);
  expect(await count('receipts')).toBe(1);
});

test('each state has its own time, and a tenant may have others', async () => {
  const umbrella = await insertCatalog(db, { tenant: 'umbrella' });
  await acknowledged(db, acme, bytes('a'));
  await failed(db, acme, bytes('b'));
  await acknowledged(db, umbrella, bytes('c'));
  await db.rows(`update waybill.settings set retention = retention
    || '{"tenants": {"umbrella": {"acknowledgedDays": 3, "acknowledgedPayloadDays": 1}}}'`);
  await elapse(4);
  expect(await retain()).toMatchObject({ deliveries: 1 });
  await elapse(27);
  await retain();
  const left = await db.rows('select tenant_id, state from waybill.deliveries');
  expect(left).toEqual([{ tenant_id: 'acme', state: 'Failed' }]);
  await elapse(60);
  await retain();
  expect(await count('deliveries')).toBe(0);
});

test('bytes that a delivery still wants stay, whoever else has let them go', async () => {
  await acknowledged(db, acme, bytes('shared'));
  const live = await receive(db, acme, bytes('shared'));
  await elapse(40);
  await removePayloads();
  expect([await count('deliveries'), await count('artifacts')]).toEqual([1, 1]);
  expect((await storedDelivery(db, live)).state).toBe('Received');
});

test('bytes that come again while they wait to be removed stay', async () => {
  await acknowledged(db, acme, bytes('again'));
  await elapse(40);
  await retain();
  expect(await count('artifacts where release_at is not null')).toBe(1);
  await receive(db, acme, bytes('again'));
  expect(await count('artifacts where release_at is not null')).toBe(0);
  await removePayloads();
  expect(await count('artifacts')).toBe(1);
});

test('payloads of deliveries that ended at the same instant all go, whatever the batch', async () => {
  for (let nth = 0; nth < 5; nth += 1) await acknowledged(db, acme, bytes(`same ${nth}`));
  await db.rows(`update waybill.deliveries set settled_at = date_trunc('day', now())`);
  await elapse(20);
  const batch: RetentionBatch = { tenant: 'acme', state: 'Acknowledged', limit: 2 };
  const rounds: number[] = [];
  for (let nth = 0; nth < 4; nth += 1) rounds.push(await retainPayloads(operations(), batch));
  expect(rounds).toEqual([2, 2, 1, 0]);
  expect(await count('artifacts where release_at is null')).toBe(0);
});

test('a replay of what has lost its payload fails again, and says so', async () => {
  const ref = await failed(db, acme);
  await db.rows(`update waybill.settings set retention = retention || '{"failedPayloadDays": 1}'`);
  await elapse(2);
  await removePayloads();
  expect(await count('artifacts')).toBe(0);
  await replay(db, ref);
  expect(await openAttempt(db.as('waybill_data'), ref, 'worker')).toMatchObject({
    answer: 'must_fail',
    info: { state: 'Replayed', reason: 'payload_unreadable' },
  });
});

test('a delivery that is replayed keeps its payload, although that was let go', async () => {
  const ref = await failed(db, acme);
  await db.rows(`update waybill.settings set retention = retention || '{"failedPayloadDays": 1}'`);
  await elapse(2);
  await retain();
  expect(await count('artifacts where release_at is not null')).toBe(1);
  await replay(db, ref);
  await elapse(2);
  await removePayloads();
  expect(await count('artifacts')).toBe(1);
});

test('a replay and the removal of its payload at once: the one that comes second sees the first', async () => {
  const ref = await failed(db, acme);
  await db.rows(`update waybill.settings set retention = retention || '{"failedPayloadDays": 1}'`);
  await elapse(2);
  await retain();
  await elapse(2);
  const holder = new Client({ connectionString: db.url });
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query('update waybill.artifacts set release_at = null');
    // Somebody wants the bytes and has not committed: they are passed over, not waited for.
    expect(await retainActions(operations(), 100)).toMatchObject({ artifacts: 0 });
    await holder.query('commit');
  } finally {
    await holder.end();
  }
  await replay(db, ref);
  await retainActions(operations(), 100);
  expect(await count('artifacts')).toBe(1);
});

test('bytes that a delivery and an action have go when both are over', async () => {
  const request = Buffer.from('{"same":true}');
  await actionLedger(db.as('waybill_data')).startAction({
    ...{ tenantId: tenantId('acme'), actionId: 'a1', capabilityId: 'tickets.create', request },
    ...{ affinityKey: null, requestedBy: 'ada', deadlineMs: 60_000, retryBudget: 0 },
    attendAfterMs: 1_000,
  });
  await acknowledged(db, acme, { payload: request });
  await cancelAction(db, 'acme', 'a1');
  await elapse(40);
  await removePayloads();
  expect(await count('artifacts')).toBe(1);
  await db.rows(`update waybill.actions set closed_at = closed_at - interval '31 days'`);
  await retainActions(operations(), 100);
  await elapse(1);
  await retainActions(operations(), 100);
  expect(await count('artifacts')).toBe(0);
  expect(
    await readAction(db.as('waybill_data'), { tenantId: tenantId('acme'), actionId: 'a1' }),
  ).toMatchObject({ state: 'cancelled' });
});

test('what is live never goes, however old', async () => {
  const ref = await receive(db, acme);
  await db.rows(`update waybill.deliveries set received_at = received_at - interval '9 years'`);
  await removePayloads();
  expect((await storedDelivery(db, ref)).state).toBe('Received');
  expect(await count('artifacts')).toBe(1);
});

test('a delivery whose dedup key still counts stays: a repeat names it', async () => {
  await db.rows('update waybill.settings set replay_window_minutes = 43200');
  await db.rows(`update waybill.settings set retention = retention || '{"acknowledgedDays": 14}'`);
  await acknowledged(db, acme);
  await elapse(20);
  expect(await retain()).toMatchObject({ deliveries: 0 });
  await elapse(11);
  expect(await retain()).toMatchObject({ deliveries: 1 });
});

test('several at once share the work: each delivery goes once', async () => {
  const refs: DeliveryRef[] = [];
  for (let nth = 0; nth < 30; nth += 1) refs.push(await acknowledged(db, acme, bytes(`${nth}`)));
  await elapse(31);
  const batch: RetentionBatch = { tenant: 'acme', state: 'Acknowledged', limit: 7 };
  const rounds = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      let gone = 0;
      for (let got = -1; got !== 0; gone += got) got = await retainDeliveries(operations(), batch);
      return gone;
    }),
  );
  expect(rounds.reduce((sum, gone) => sum + gone, 0)).toBe(refs.length);
  expect([await count('deliveries'), await count('receipts')]).toEqual([0, 30]);
});
