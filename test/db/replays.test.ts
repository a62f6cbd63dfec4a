/** Replays decided on the row, in a real Postgres as waybill_data. */
import { closeAttempt, openAttempt, replayDelivery } from '../../src/db/deliveries';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import {
  ACKNOWLEDGED,
  failedDelivery,
  open,
  receipt,
  receive,
  storedDelivery,
} from '../support/stored-deliveries';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
let acme: CatalogFixture;

beforeAll(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
});
afterAll(() => db.drop());

const replay = (ref: DeliveryRef, signed = receipt('replayed')) =>
  replayDelivery(db.as('waybill_data'), ref, { replayedBy: 'ada', reason: 'repaired' }, signed);

test('a failed delivery gets a new series with a whole budget and keeps its history', async () => {
  const { ref, last } = await failedDelivery(db, acme);
  const signed = receipt('replayed', last);
  expect(await replay(ref, signed)).toEqual({ answer: 'replayed', series: 2 });
  expect(await storedDelivery(db, ref)).toMatchObject({
    ...{ state: 'Replayed', series: 2, series_attempts: 0, attempts: 1, reason: null },
    ...{ settled_at: null, waiting_since: null, receipt_seq: 2 },
  });
  const opened = await open(db, ref);
  expect(opened.info).toMatchObject({ attempt: 2, series: 2, seriesAttempts: 1 });
  const at = { ...ref, attempt: 2 };
  await closeAttempt(db.as('waybill_data'), at, ACKNOWLEDGED, receipt('acknowledged', signed));
  const chain = await db.rows(
    `select seq, kind, previous_digest is not distinct from
        lag(digest) over (order by seq) as linked
      from waybill.receipts where subject = $1 order by seq`,
    [`delivery/${ref.deliveryId}`],
  );
  expect(chain).toEqual([
    { seq: 1, kind: 'failed', linked: true },
    { seq: 2, kind: 'replayed', linked: true },
    { seq: 3, kind: 'acknowledged', linked: true },
  ]);
});

test('two replays at once are one, with one event, one receipt and one line of audit', async () => {
  const { ref, last } = await failedDelivery(db, acme);
  const both = await Promise.all([
    replay(ref, receipt('replayed', last)),
    replay(ref, receipt('replayed', last)),
  ]);
  expect(both.map(({ answer }) => answer).sort()).toEqual(['already_replaying', 'replayed']);
  const [counts] = await db.rows(
    `select (select count(*)::integer from waybill.outbox_events
          where aggregate = $1 and topic like '%delivery-replayed') as events,
        (select count(*)::integer from waybill.audit_log where subject = $1) as audited`,
    [`delivery/${ref.deliveryId}`],
  );
  expect(counts).toEqual({ events: 1, audited: 1 });
  expect(await storedDelivery(db, ref)).toMatchObject({ series: 2, receipt_seq: 2 });
});

test('a replay under way stays one replay while its attempts run', async () => {
  const { ref, last } = await failedDelivery(db, acme);
  await replay(ref, receipt('replayed', last));
  await open(db, ref);
  expect(await replay(ref)).toMatchObject({
    ...{ answer: 'already_replaying', facts: { state: 'Dispatched', series: 2 } },
  });
});

test('what is not failed is not replayed: live for the first time, or acknowledged', async () => {
  const ref = await receive(db, acme);
  expect(await replay(ref)).toMatchObject({ answer: 'not_failed', facts: { state: 'Received' } });
  await open(db, ref);
  const at = { ...ref, attempt: 1 };
  await closeAttempt(db.as('waybill_data'), at, ACKNOWLEDGED, receipt('acknowledged'));
  expect(await replay(ref)).toMatchObject({
    ...{ answer: 'not_failed', facts: { state: 'Acknowledged' } },
  });
});

test('a receipt that does not continue the chain replays nothing', async () => {
  const { ref } = await failedDelivery(db, acme);
  expect(await replay(ref, receipt('replayed'))).toMatchObject({ answer: 'chain_moved' });
  expect((await storedDelivery(db, ref)).state).toBe('Failed');
});

test('another tenant’s delivery is unknown', async () => {
  const { ref, last } = await failedDelivery(db, acme);
  const foreign = { ...ref, tenantId: tenantId('globex') };
  expect(await replay(foreign, receipt('replayed', last))).toEqual({ answer: 'unknown_delivery' });
});

test('a replay may be followed by another one once it has failed again', async () => {
  const { ref, last } = await failedDelivery(db, acme);
  const first = receipt('replayed', last);
  await replay(ref, first);
  await db.rows(`update waybill.subscriptions set state = 'deactivated'`);
  const stopped = await openAttempt(db.as('waybill_data'), ref, 'worker');
  await db.rows(`update waybill.subscriptions set state = 'active'`);
  expect(stopped).toMatchObject({ answer: 'must_fail', info: { state: 'Replayed' } });
  await open(db, ref);
  const failed = receipt('failed', first);
  const close = { ...ACKNOWLEDGED, outcome: 'refused', decision: 'failed' } as const;
  await closeAttempt(db.as('waybill_data'), { ...ref, attempt: 2 }, close, failed);
  expect(await replay(ref, receipt('replayed', failed))).toEqual({ answer: 'replayed', series: 3 });
});
