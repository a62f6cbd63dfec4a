/** Deliveries and actions with chains of really signed receipts, by the product's own steps. */
import { closeAttempt } from '../../src/db/deliveries';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { decideReplay } from '../../src/services/replays';
import { commonData, nextReceipt } from '../../src/services/receipts';
import type { CatalogFixture } from './catalog-fixture';
import { ACKNOWLEDGED, open, receive, REFUSED } from './stored-deliveries';
import type { TestDatabase } from './test-database';
import { testKey } from './test-signer';

export type Received = Parameters<typeof receive>[2];

/** Opens an attempt and closes it, with the receipt of that. */
export async function attempted(
  db: TestDatabase,
  ref: DeliveryRef,
  end: 'acknowledged' | 'failed',
): Promise<void> {
  const { info } = await open(db, ref);
  const common = commonData(ref, info);
  const receipt = nextReceipt(await testKey(), {
    ref,
    facts: info,
    atMs: Date.parse(info.now),
    body:
      end === 'failed'
        ? {
            kind: end,
            data: { ...common, attempts: info.attempt, reason: 'status_refused', lastStatus: 500 },
          }
        : {
            kind: end,
            data: {
              ...common,
              ...{ attempt: info.attempt, fence: info.attempt, targetId: info.targetId },
              ...{ targetKind: info.targetKind, status: 200, answerSha256: null },
              ...{ startedAt: new Date(info.now).toISOString(), durationMs: 12 },
            },
          },
  });
  const close = end === 'failed' ? REFUSED : ACKNOWLEDGED;
  await closeAttempt(db.as('waybill_data'), { ...ref, attempt: info.attempt }, close, receipt);
}

export async function acknowledged(
  db: TestDatabase,
  fixture: CatalogFixture,
  changes: Received = {},
): Promise<DeliveryRef> {
  const ref = await receive(db, fixture, changes);
  await attempted(db, ref, 'acknowledged');
  return ref;
}

export async function failed(
  db: TestDatabase,
  fixture: CatalogFixture,
  changes: Received = {},
): Promise<DeliveryRef> {
  const ref = await receive(db, fixture, changes);
  await attempted(db, ref, 'failed');
  return ref;
}

export async function replay(db: TestDatabase, ref: DeliveryRef): Promise<void> {
  const services = { data: db.as('waybill_data'), signingKey: await testKey() };
  const answer = await decideReplay(services, ref, { replayedBy: 'ada', reason: 'fixed' });
  if (answer.kind !== 'replayed') throw new Error(answer.kind);
}
