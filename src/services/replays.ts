/** Replay: decided on the row, with its receipt, event and audit line, in one transaction. */
import type { Database } from '../db/database';
import { readDeliveryFacts, replayDelivery } from '../db/deliveries';
import type { DeliveryRef, ReplayAnswer } from '../domain/delivery-activities';
import { point } from '../points';
import type { SigningKey } from '../signing/keys';
import type { DeliveryMetrics } from './delivery-metrics';
import { countedAs } from './delivery-metrics';
import { commonData, nextReceipt, withReceipt } from './receipts';

export interface ReplayServices {
  /** Role waybill_data. */
  readonly data: Database;
  readonly signingKey: SigningKey;
  readonly metrics?: DeliveryMetrics;
}

export interface ReplayWho {
  readonly replayedBy: string;
  readonly reason: string;
}

/**
 * Failed → Replayed with a new series of attempts. It starts nothing: the caller nudges the
 * workflow, and a loop does it where the caller could not. Two calls at once are one replay.
 */
export async function decideReplay(
  services: ReplayServices,
  ref: DeliveryRef,
  who: ReplayWho,
): Promise<ReplayAnswer> {
  await point('replay.begun');
  const facts = await readDeliveryFacts(services.data, ref);
  if (facts === null) return { kind: 'unknown_delivery' };
  const answer = await withReceipt(
    facts,
    (head) =>
      nextReceipt(services.signingKey, {
        ref,
        facts: head,
        atMs: Date.parse(head.now),
        body: {
          kind: 'replayed',
          data: { ...commonData(ref, head), ...who, series: head.series + 1 },
        },
      }),
    (receipt) => replayDelivery(services.data, ref, who, receipt),
  );
  await point('replay.decided');
  switch (answer.answer) {
    case 'replayed':
      services.metrics?.reached('Replayed', countedAs(ref, facts));
      return { kind: 'replayed', series: answer.series };
    case 'already_replaying':
      return {
        kind: 'already_replaying',
        state: answer.facts.state,
        series: answer.facts.series,
      };
    case 'not_failed':
      return { kind: 'not_failed', state: answer.facts.state };
    case 'unknown_delivery':
      return { kind: 'unknown_delivery' };
  }
}
