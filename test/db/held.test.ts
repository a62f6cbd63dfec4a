/**
 * Deliveries that are held though nothing is wrong with them, in a real Postgres as waybill_data; in both
 * lanes, by whoever makes their next move. Targets are not called here; outcomes are given.
 */
import { closeAttempt, releaseGated } from '../../src/db/deliveries';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { LANES } from '../../src/domain/lanes';
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { askNext, openNext } from '../support/next-attempt';
import { receive, retryIn, storedDelivery } from '../support/stored-deliveries';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const openAs = (ref: DeliveryRef) => askNext(db, ref);

/** Runs with a changed catalog row, and puts the row back. */
async function during(change: string, back: string, work: () => Promise<void>): Promise<void> {
  await db.rows(change);
  await work().finally(() => db.rows(back));
}

describe.each(LANES)('in the lane %s', (lane) => {
  let fixture: CatalogFixture;
  beforeAll(async () => {
    fixture = await insertCatalog(db, { tenant: `held-${lane}`, lane });
  });

  test('a paused subscription holds it, still received, until it is resumed', async () => {
    const ref = await receive(db, fixture);
    await during(
      `update waybill.subscriptions set state = 'paused', pause_reason = 'target_gone'`,
      `update waybill.subscriptions set state = 'active', pause_reason = null`,
      async () => {
        const held = { answer: 'held', info: { heldBy: 'target_gone' } };
        expect(await openAs(ref)).toMatchObject(held);
        const first = await storedDelivery(db, ref);
        expect(first).toMatchObject({ state: 'Verified', reason: 'held' });
        expect(await openAs(ref)).toMatchObject(held);
        expect((await storedDelivery(db, ref)).waiting_since).toEqual(first.waiting_since);
      },
    );
    // What has waited gets its turn, at the rate of the subscription.
    expect(await openAs(ref)).toMatchObject({ answer: 'held', info: { heldBy: 'draining' } });
    expect(await releaseGated(db.as('waybill_operations'), 10)).toMatchObject({ released: 1 });
    expect(await openAs(ref)).toMatchObject({ answer: 'opened' });
  });

  test.each([
    [`instances set status = 'disabled'`, `instances set status = 'enabled'`, 'instance_disabled'],
    ['connectors set enabled = false', 'connectors set enabled = true', 'connector_disabled'],
  ])('after %s it is held, not failed', async (change, back, heldBy) => {
    const ref = await receive(db, fixture);
    await during(`update waybill.${change}`, `update waybill.${back}`, async () => {
      expect(await openAs(ref)).toMatchObject({ answer: 'held', info: { heldBy } });
    });
    expect(await openAs(ref)).toMatchObject({ answer: 'opened' });
  });

  test('once released it is not held any more, also while its next attempt is not due', async () => {
    const ref = await receive(db, fixture);
    await openNext(db, ref);
    await closeAttempt(db.as('waybill_data'), { ...ref, attempt: 1 }, retryIn(60_000), null);
    await during(
      `update waybill.subscriptions set state = 'paused', pause_reason = 'target_gone'`,
      `update waybill.subscriptions set state = 'active', pause_reason = null`,
      async () => {
        await openAs(ref);
        expect(await storedDelivery(db, ref)).toMatchObject({ reason: 'held' });
      },
    );
    expect(await openAs(ref)).toMatchObject({ answer: 'not_due' });
    expect(await storedDelivery(db, ref)).toMatchObject({ reason: null, waiting_since: null });
  });
});
