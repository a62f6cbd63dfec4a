/**
 * Deliveries whose target is an event: nobody is called, in either lane. Real: Postgres, publishing. Doubled:
 * nothing; a receiver is there to be left alone.
 */
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { LANES, type Lane } from '../../src/domain/lanes';
import { publishFleet } from '../../src/services/publications';
import { exportFleet } from '../../src/services/publications/exporting';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import { readFleet } from '../../src/schemas/fleet';
import type { CatalogFixture } from '../support/catalog-fixture';
import { DeliveryRig } from '../support/delivery-rig';
import { askNext, nextAttempt } from '../support/next-attempt';
import { outboxOf } from '../support/outbox';

let rig: DeliveryRig;
let fixtures: Readonly<Record<Lane, CatalogFixture>>;
beforeAll(async () => {
  rig = await DeliveryRig.start();
  const durable = await rig.catalog();
  fixtures = { durable, express: await rig.catalog({ lane: 'express', subscription: 'express' }) };
  const fleet = `kind: Target\ntenant: ${durable.tenant}\nid: knowledge\nevent: {}\n`;
  const control = rig.db.as('waybill_control');
  await publishFleet(control, readFleet(fleet, loadShippedSchemes()), 'admin');
  await rig.db.rows(`update waybill.subscriptions set target_id = 'knowledge'`);
});
afterAll(() => rig.stop());

async function dispatched(ref: DeliveryRef): Promise<Record<string, unknown>[]> {
  const rows = await rig.db.rows<{ payload: Record<string, unknown> }>(
    `select payload from waybill.outbox_events where aggregate = $1 and topic like '%dispatched'`,
    [`delivery/${ref.deliveryId}`],
  );
  return rows.map(({ payload }) => payload);
}

describe.each(LANES)('in the lane %s', (lane) => {
  test('are acknowledged with the event that tells all about them', async () => {
    const fixture = fixtures[lane];
    const ref = await rig.accept(fixture);
    const answer = await nextAttempt(rig, ref);
    expect(answer).toEqual({ kind: 'acknowledged', attempt: 1 });
    expect(await rig.row(ref)).toMatchObject({ state: 'Acknowledged', receipt_seq: 1 });
    expect(await outboxOf(rig.db, ref)).toEqual(['1 DeliveryReceived', '2 DeliveryDispatched']);
    const [delivery] = await rig.db.rows<{ hash: string }>(
      `select encode(payload_sha256, 'hex') as hash from waybill.deliveries where delivery_id = $1`,
      [ref.deliveryId],
    );
    expect(await dispatched(ref)).toEqual([
      {
        ...{ deliveryId: ref.deliveryId, tenantId: 'acme', direction: 'inbound' },
        receiptRef: `delivery/${ref.deliveryId}/1`,
        ...{ targetId: 'knowledge', connectorId: fixture.connector, eventType: 'push' },
        ...{ subscriptionId: fixture.subscription, payloadHash: delivery?.hash },
      },
    ]);
    expect(rig.receiver.calls).toHaveLength(0);
  });

  test('whose worker was lost are acknowledged by the next one, with one event', async () => {
    const ref = await rig.accept(fixtures[lane]);
    await askNext(rig.db, ref);
    expect(await dispatched(ref)).toEqual([]);
    const both = [1, 2].map(() => nextAttempt(rig, ref));
    const kinds = (await Promise.all(both)).map(({ kind }) => kind);
    expect(kinds).toContain('acknowledged');
    expect(await dispatched(ref)).toHaveLength(1);
    expect(await rig.row(ref)).toMatchObject({ state: 'Acknowledged', attempts: 1 });
  });
});

test('are exported as they were written', async () => {
  const control = rig.db.as('waybill_control');
  const text = await exportFleet(control, fixtures.durable.tenant, loadShippedSchemes());
  expect(text).toMatch(/id: knowledge\nevent: \{\}/);
});
