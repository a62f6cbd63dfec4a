/** Deliveries at the level of the database: requests to store, closes and receipts to write. */
import { createHash, randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { AttemptClose, VerifiedRequest } from '../../src/db/deliveries';
import type { ReceiptRow } from '../../src/domain/receipts';
import { closeAttempt, ingestDelivery, openAttempt } from '../../src/db/deliveries';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryId, subscriptionId, tenantId } from '../../src/domain/ids';
import type { OpenedAttempt } from '../../src/schemas/delivery-rows';
import type { CatalogFixture } from './catalog-fixture';
import type { TestDatabase } from './test-database';

/** A verified request to the fixture's subscription, with an id and a dedup key of its own. */
export function verifiedRequest(
  fixture: CatalogFixture,
  changes: Partial<VerifiedRequest> = {},
): VerifiedRequest {
  const id = deliveryId(uuidv7());
  return {
    tenantId: tenantId(fixture.tenant),
    deliveryId: id,
    subscriptionId: subscriptionId(fixture.subscription),
    connectorId: fixture.connector,
    instanceId: 'main',
    externalId: id,
    eventType: 'push',
    contentType: 'application/json',
    keptHeaders: [['x-github-event', 'push']],
    evidence: { scheme: 'hmac', secretId: 'current' },
    payload: Buffer.from('{"n":1}'),
    dedupKey: id,
    freshness: null,
    attendAfterMs: 2_000,
    ...changes,
  };
}

/** Stores a verified request and answers which delivery it became. */
export async function receive(
  db: TestDatabase,
  fixture: CatalogFixture,
  changes: Partial<VerifiedRequest> = {},
): Promise<DeliveryRef> {
  const request = verifiedRequest(fixture, changes);
  await ingestDelivery(db.as('waybill_data'), request);
  return { tenantId: request.tenantId, deliveryId: request.deliveryId };
}

export async function open(db: TestDatabase, ref: DeliveryRef): Promise<OpenedAttempt> {
  const answer = await openAttempt(db.as('waybill_data'), ref, 'worker');
  if (answer.answer !== 'opened') throw new Error(`was not opened: ${answer.answer}`);
  return answer;
}

/** The first receipt of a chain, or the one after `previous`; its signature is a made-up text. */
export function receipt(kind: string, previous: ReceiptRow | null = null): ReceiptRow {
  const jws = `jws-${randomUUID()}`;
  return {
    kind,
    seq: (previous?.seq ?? 0) + 1,
    previousDigest: previous?.digest ?? null,
    jws,
    digest: createHash('sha256').update(jws).digest('hex'),
  };
}

const NOTHING = { reason: null, detail: null, status: null, answerSha256: null, answerHead: null };

export const ACKNOWLEDGED: AttemptClose = {
  ...NOTHING,
  ...{ outcome: 'acknowledged', decision: 'acknowledged', status: 200, durationMs: 12 },
  ...{ delayMs: null, pauseSubscription: false, targetHealth: 'healthy' },
};

export const REFUSED: AttemptClose = {
  ...NOTHING,
  ...{ outcome: 'refused', decision: 'failed', status: 500, durationMs: 12 },
  ...{ reason: 'status_refused', detail: 'answered 500', delayMs: null, pauseSubscription: false },
  targetHealth: 'failing',
};

export const retryIn = (delayMs: number): AttemptClose => ({
  ...REFUSED,
  ...{ decision: 'retry', delayMs },
});

/** A delivery that was tried once and failed, and the receipt of it. */
export async function failedDelivery(
  db: TestDatabase,
  fixture: CatalogFixture,
): Promise<{ readonly ref: DeliveryRef; readonly last: ReceiptRow }> {
  const ref = await receive(db, fixture);
  const { attempt } = (await open(db, ref)).info;
  const last = receipt('failed');
  await closeAttempt(db.as('waybill_data'), { ...ref, attempt }, REFUSED, last);
  return { ref, last };
}

export interface StoredDelivery {
  readonly state: string;
  readonly version: number;
  readonly reason: string | null;
  readonly attempts: number;
  readonly series: number;
  readonly series_attempts: number;
  readonly receipt_seq: number;
  readonly event_seq: number;
  readonly settled_at: Date | null;
  readonly attend_at: Date | null;
  readonly waiting_since: Date | null;
}

export async function storedDelivery(db: TestDatabase, ref: DeliveryRef): Promise<StoredDelivery> {
  const [row] = await db.rows<StoredDelivery>(
    'select * from waybill.deliveries where tenant_id = $1 and delivery_id = $2',
    [ref.tenantId, ref.deliveryId],
  );
  if (row === undefined) throw new Error('there is no such delivery');
  return row;
}
