/**
 * Fenced attempts in a real Postgres, as waybill_data: who may open and close one, and what each
 * answer leaves behind; in both lanes, by whoever makes the delivery's next move. Targets are not called
 * here; outcomes are given.
 */
import { v7 as uuidv7 } from 'uuid';
import { closeAttempt } from '../../src/db/deliveries';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryId, tenantId } from '../../src/domain/ids';
import { LANES, type Lane } from '../../src/domain/lanes';
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { askNext, openNext } from '../support/next-attempt';
import {
  ACKNOWLEDGED,
  receipt,
  receive,
  REFUSED,
  retryIn,
  storedDelivery,
} from '../support/stored-deliveries';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
let tenants = 0;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** A tenant of its own: nothing else waits for the loop. */
const subscribe = (lane: Lane) => {
  tenants += 1;
  return insertCatalog(db, { tenant: `t${tenants}`, lane });
};
const openAs = (ref: DeliveryRef) => askNext(db, ref);
const open = (ref: DeliveryRef) => openNext(db, ref);
const close = (
  ref: DeliveryRef,
  attempt: number,
  ...[how, signed]: [typeof ACKNOWLEDGED, ReturnType<typeof receipt> | null]
) => closeAttempt(db.as('waybill_data'), { ...ref, attempt }, how, signed);

const attemptsOf = (ref: DeliveryRef) =>
  db.rows(
    `select attempt_no, outcome, late_evidence->>'outcome' as late
      from waybill.delivery_attempts where delivery_id = $1 order by attempt_no`,
    [ref.deliveryId],
  );
const topicsOf = async (ref: DeliveryRef) => {
  const rows = await db.rows<{ topic: string }>(
    `select regexp_replace(topic, '.*[.]', '') as topic from waybill.outbox_events
      where aggregate = $1 order by aggregate_seq`,
    [`delivery/${ref.deliveryId}`],
  );
  return rows.map(({ topic }) => topic);
};
/** Runs with a changed catalog row, and puts the row back. */
async function during(change: string, back: string, work: () => Promise<void>): Promise<void> {
  await db.rows(change);
  await work().finally(() => db.rows(back));
}

describe.each(LANES)('opening in the lane %s', (lane) => {
  let fixture: CatalogFixture;
  beforeEach(async () => {
    fixture = await subscribe(lane);
  });

  test('the first attempt carries all that the call needs, and tells that it was received', async () => {
    const ref = await receive(db, fixture);
    const opened = await open(ref);
    expect(opened.info).toMatchObject({
      ...{ state: 'Dispatched', attempt: 1, attempts: 1, series: 1, seriesAttempts: 1 },
      ...{ targetId: 'pushes-target', keptHeaders: [['x-github-event', 'push']] },
    });
    expect(Buffer.from(opened.payload).toString()).toBe('{"n":1}');
    expect(await topicsOf(ref)).toEqual(['delivery-received']);
    expect(await storedDelivery(db, ref)).toMatchObject({ state: 'Dispatched', version: 3 });
  });

  test('of eight at once only one is opened, the others are told until when', async () => {
    const ref = await receive(db, fixture);
    const answers = await Promise.all(Array.from({ length: 8 }, () => openAs(ref)));
    expect(answers.filter(({ answer }) => answer === 'opened')).toHaveLength(1);
    const waiting = answers.filter((answer) => answer.answer === 'in_flight');
    expect(waiting).toHaveLength(7);
    expect(waiting.every(({ info }) => info.attempt === 1 && info.endsInMs > 0)).toBe(true);
  });

  test('a delivery of another tenant, or of nobody, is unknown', async () => {
    const ref = await receive(db, fixture);
    const foreign = { ...ref, tenantId: tenantId('globex') };
    expect(await openAs(foreign)).toEqual({ answer: 'unknown_delivery' });
    const nobody = { ...ref, deliveryId: deliveryId(uuidv7()) };
    expect(await openAs(nobody)).toEqual({ answer: 'unknown_delivery' });
  });

  test.each([
    ['missing', `delete from waybill.artifacts where sha256 = sha256($1)`],
    ['altered', `update waybill.artifacts set content = 'other' where sha256 = sha256($1)`],
  ])('stored bytes that are %s must fail, and never reach the target', async (how, damage) => {
    const payload = Buffer.from(`payload that goes ${how}`);
    const ref = await receive(db, fixture, { payload });
    await db.rows(damage, [payload]);
    expect(await openAs(ref)).toMatchObject({
      ...{ answer: 'must_fail', info: { reason: 'payload_unreadable', state: 'Received' } },
    });
    expect(await attemptsOf(ref)).toEqual([]);
    expect(await topicsOf(ref)).toEqual([]);
  });

  test.each([
    [`instances set status = 'revoked'`, `instances set status = 'enabled'`, 'instance_revoked'],
    [
      `connector_versions set status = 'revoked'`,
      `connector_versions set status = 'active'`,
      'connector_revoked',
    ],
    [
      `subscriptions set state = 'deactivated'`,
      `subscriptions set state = 'active'`,
      'subscription_deactivated',
    ],
  ])('after %s it must fail', async (change, back, reason) => {
    const ref = await receive(db, fixture);
    await during(`update waybill.${change}`, `update waybill.${back}`, async () => {
      expect(await openAs(ref)).toMatchObject({ answer: 'must_fail', info: { reason } });
    });
  });

  test('before its time is not due, and says how long it is', async () => {
    const ref = await receive(db, fixture);
    await open(ref);
    await close(ref, 1, retryIn(60_000), null);
    const answer = await openAs(ref);
    if (answer.answer !== 'not_due') throw new Error(answer.answer);
    expect(answer.info.dueInMs).toBeGreaterThan(50_000);
    expect(answer.info.dueInMs).toBeLessThanOrEqual(60_000);
  });
});

describe.each(LANES)('closing in the lane %s', (lane) => {
  let fixture: CatalogFixture;
  beforeEach(async () => {
    fixture = await subscribe(lane);
  });

  test('as acknowledged settles the delivery, with receipt and event, once', async () => {
    const ref = await receive(db, fixture);
    await open(ref);
    const signed = receipt('acknowledged');
    expect(await close(ref, 1, ACKNOWLEDGED, signed)).toEqual({ answer: 'closed' });
    expect(await close(ref, 1, ACKNOWLEDGED, signed)).toEqual({ answer: 'closed' });
    expect(await storedDelivery(db, ref)).toMatchObject({
      ...{ state: 'Acknowledged', attend_at: null, receipt_seq: 1, version: 4 },
    });
    expect(await topicsOf(ref)).toEqual(['delivery-received', 'delivery-dispatched']);
    const receipts = await db.rows('select jws from waybill.receipts where subject = $1', [
      `delivery/${ref.deliveryId}`,
    ]);
    expect(receipts).toEqual([{ jws: signed.jws }]);
    expect(await openAs(ref)).toMatchObject({ answer: 'settled', info: { state: 'Acknowledged' } });
  });

  test('a stale worker cannot close what is closed; what it knows is kept as late evidence', async () => {
    const ref = await receive(db, fixture);
    await open(ref);
    const lost = {
      ...retryIn(0),
      outcome: 'unknown',
      reason: 'worker_lost',
      durationMs: null,
    } as const;
    await close(ref, 1, lost, null);
    const second = await open(ref);
    expect(second.info.attempt).toBe(2);
    expect(await close(ref, 1, ACKNOWLEDGED, receipt('acknowledged'))).toEqual({
      answer: 'fence_lost',
    });
    expect(await close(ref, 1, REFUSED, receipt('failed'))).toEqual({ answer: 'fence_lost' });
    expect(await attemptsOf(ref)).toEqual([
      { attempt_no: 1, outcome: 'unknown', late: 'acknowledged' },
      { attempt_no: 2, outcome: null, late: null },
    ]);
    expect(await storedDelivery(db, ref)).toMatchObject({ state: 'Dispatched', receipt_seq: 0 });
    expect(await close(ref, 2, ACKNOWLEDGED, receipt('acknowledged'))).toEqual({
      answer: 'closed',
    });
  });

  test('two different closes at once: one holds, the other lost its fence', async () => {
    const ref = await receive(db, fixture);
    await open(ref);
    const both = await Promise.all([
      close(ref, 1, ACKNOWLEDGED, receipt('acknowledged')),
      close(ref, 1, REFUSED, receipt('failed')),
    ]);
    expect(both.map(({ answer }) => answer).sort()).toEqual(['closed', 'fence_lost']);
    const { state, receipt_seq: receipts } = await storedDelivery(db, ref);
    expect([state, receipts]).toEqual([both[0].answer === 'closed' ? 'Acknowledged' : 'Failed', 1]);
  });

  test('an attempt that was never opened is unknown', async () => {
    const ref = await receive(db, fixture);
    expect(await close(ref, 1, ACKNOWLEDGED, receipt('acknowledged'))).toEqual({
      answer: 'unknown_attempt',
    });
  });

  test('with a receipt that does not continue the chain changes nothing and says from where', async () => {
    const ref = await receive(db, fixture);
    await open(ref);
    const misplaced = receipt('acknowledged', receipt('failed'));
    expect(await close(ref, 1, ACKNOWLEDGED, misplaced)).toMatchObject({
      ...{ answer: 'chain_moved', facts: { receiptSeq: 0, receiptDigest: null } },
    });
    expect(await attemptsOf(ref)).toEqual([{ attempt_no: 1, outcome: null, late: null }]);
    expect(await storedDelivery(db, ref)).toMatchObject({ state: 'Dispatched' });
  });

  test('for a retry keeps the delivery live, with the due time on the database clock', async () => {
    const ref = await receive(db, fixture);
    await open(ref);
    await close(ref, 1, retryIn(40_000), null);
    const [row] = await db.rows(
      `select state, reason, next_attempt_at - clock_timestamp() between interval '35 seconds'
          and interval '40 seconds' as due, attend_at > next_attempt_at as attended
        from waybill.deliveries where delivery_id = $1`,
      [ref.deliveryId],
    );
    const reason = 'status_refused';
    // A workflow waits for the attempt; of the express lane it is started first.
    const attended = lane === 'durable';
    expect(row).toEqual({ state: 'Dispatched', reason, due: true, attended });
  });

  test('because the target is gone pauses the subscription, whose other deliveries are held', async () => {
    const [first, second] = [await receive(db, fixture), await receive(db, fixture)];
    await open(first);
    const how = { ...REFUSED, reason: 'target_gone', pauseSubscription: true } as const;
    await close(first, 1, how, receipt('failed'));
    expect(await openAs(second)).toMatchObject({
      ...{ answer: 'held', info: { heldBy: 'target_gone' } },
    });
    const told = await db.rows(
      `select topic, payload->>'active' as active from waybill.outbox_events
        where tenant_id = $1 and aggregate = 'subscription/pushes'`,
      [fixture.tenant],
    );
    expect(told).toEqual([
      { topic: 'connectors.subscriptions.v1.connector-subscription-changed', active: 'false' },
    ]);
  });

  test('because the target is gone pauses no subscription that has another one by now', async () => {
    const moved = await insertCatalog(db, { tenant: fixture.tenant, lane, subscription: 'moved' });
    const refs: DeliveryRef[] = [];
    for (const one of [moved, fixture]) {
      const ref = await receive(db, one);
      expect((await open(ref)).info.attempt).toBe(1);
      refs.push(ref);
    }
    await db.rows(
      `update waybill.subscriptions set target_id = 'pushes-target'
        where tenant_id = $1 and subscription_id = 'moved'`,
      [fixture.tenant],
    );
    const gone = { ...REFUSED, reason: 'target_gone', pauseSubscription: true } as const;
    for (const ref of refs) await close(ref, 1, gone, receipt('failed'));
    const rows = await db.rows(
      `select subscription_id as id, state from waybill.subscriptions where tenant_id = $1 order by 1`,
      [fixture.tenant],
    );
    expect(rows).toEqual([
      { id: 'moved', state: 'active' },
      { id: 'pushes', state: 'paused' },
    ]);
  });
});
