/**
 * Deliveries that fail without an attempt, in a real Postgres as waybill_data; in both lanes, whoever would
 * have made it.
 */
import { closeAttempt, failDelivery } from '../../src/db/deliveries';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import { LANES } from '../../src/domain/lanes';
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { openNext } from '../support/next-attempt';
import { outboxOf } from '../support/outbox';
import { receipt, receive, retryIn, storedDelivery } from '../support/stored-deliveries';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

describe.each(LANES)('failing a delivery that cannot be dispatched in the lane %s', (lane) => {
  let fixture: CatalogFixture;
  beforeAll(async () => {
    fixture = await insertCatalog(db, { tenant: `failing-${lane}`, lane });
  });

  const why = { reason: 'payload_unreadable', detail: 'the stored bytes differ' };
  const fail = (ref: DeliveryRef, signed = receipt('failed')) =>
    failDelivery(db.as('waybill_data'), ref, why, signed);

  test('settles it with receipt and event, once', async () => {
    const ref = await receive(db, fixture);
    expect(await fail(ref)).toEqual({ answer: 'failed' });
    expect(await storedDelivery(db, ref)).toMatchObject({
      ...{ state: 'Failed', reason: 'payload_unreadable', attend_at: null, receipt_seq: 1 },
    });
    expect(await outboxOf(db, ref)).toEqual(['1 DeliveryFailed']);
    expect(await fail(ref)).toMatchObject({ answer: 'not_live', facts: { state: 'Failed' } });
  });

  test('waits for an open attempt, and for the end of the chain', async () => {
    const ref = await receive(db, fixture);
    await openNext(db, ref);
    expect(await fail(ref)).toEqual({ answer: 'in_flight' });
    await closeAttempt(db.as('waybill_data'), { ...ref, attempt: 1 }, retryIn(0), null);
    expect(await fail(ref, receipt('failed', receipt('failed')))).toMatchObject({
      answer: 'chain_moved',
    });
    expect(await fail({ ...ref, tenantId: tenantId('globex') })).toEqual({
      answer: 'unknown_delivery',
    });
    expect((await storedDelivery(db, ref)).state).toBe('Dispatched');
  });
});
