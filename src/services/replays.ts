/** Replay: decided on the row, with its receipt, event and audit line, in one transaction. */
import type { Database } from '../db/database';
import { readTrustedApprovers } from '../db/approvers';
import type { ReplayAllowed } from '../db/deliveries';
import { readDeliveryFacts, replayDelivery } from '../db/deliveries';
import { readSent } from '../db/sending';
import type { DeliveryRef, ReplayAnswer } from '../domain/delivery-activities';
import { point } from '../points';
import type { DeliveryFacts } from '../schemas/delivery-rows';
import type { Sending } from '../schemas/sending-rows';
import { isTrustedApprover, type ApprovalContext } from '../signing/approvals/verify';
import type { SigningKey } from '../signing/keys';
import { judgeCarried } from './carried-approvals';
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
  /** They know that the delivery may have had its effect already. */
  readonly confirmUncertain?: boolean;
  /** An approval token, of such a one that is external. */
  readonly approval?: string | null;
}

/**
 * Failed → Replayed with a new series of attempts. It starts nothing: the caller nudges the
 * workflow, and a loop does it where the caller could not. Two calls at once are one replay. What was
 * sent and may have had its effect is replayed only where that is confirmed, and where it is external,
 * with an approval that was not used before; so is an external one whose approval counts no more.
 */
export async function decideReplay(
  services: ReplayServices,
  ref: DeliveryRef,
  who: ReplayWho,
): Promise<ReplayAnswer> {
  await point('replay.begun');
  const facts = await readDeliveryFacts(services.data, ref);
  if (facts === null) return { kind: 'unknown_delivery' };
  const judged = await judgeDoubt(services, ref, facts, who);
  if (judged.kind === 'approval_required') return judged;
  const { replayedBy, reason } = who;
  const answer = await withReceipt(
    facts,
    (head) =>
      nextReceipt(services.signingKey, {
        ref,
        facts: head,
        atMs: Date.parse(head.now),
        body: {
          kind: 'replayed',
          data: { ...commonData(ref, head), replayedBy, reason, series: head.series + 1 },
        },
      }),
    (receipt) =>
      replayDelivery(services.data, ref, { replayedBy, reason, allowed: judged.allowed }, receipt),
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
    case 'uncertain':
      return { kind: answer.answer };
    case 'approval_missing':
      return {
        ...{ kind: 'approval_required', code: 'approval_refused' },
        detail: 'an approval counts once, and while its signer is trusted; carry another one',
      };
  }
}

/** As `waybill.approval_fault` sees it. */
function approvedStill(
  { approvals }: Sending,
  context: Pick<ApprovalContext, 'tenantId' | 'trusted' | 'nowMs'>,
): boolean {
  const newest = approvals.at(-1);
  if (newest === undefined || Date.parse(newest.expiresAt) <= context.nowMs) return false;
  return isTrustedApprover(newest, context);
}

/** What the row's own guard will want to see of a delivery that may have had its effect, or is approved no more. */
async function judgeDoubt(
  { data }: ReplayServices,
  ref: DeliveryRef,
  facts: DeliveryFacts,
  { replayedBy, confirmUncertain = false, approval = null }: ReplayWho,
): Promise<
  | { readonly kind: 'judged'; readonly allowed: ReplayAllowed }
  | Extract<ReplayAnswer, { kind: 'approval_required' }>
> {
  const plain = { kind: 'judged', allowed: { confirmUncertain, approval: null } } as const;
  if (facts.state !== 'Failed' || (facts.uncertain && !confirmUncertain)) return plain;
  if (facts.direction === 'inbound') return plain;
  const sent = await readSent(data, ref.tenantId, ref);
  if (sent?.sending.sideEffect !== 'external') return plain;
  const context = { tenantId: ref.tenantId, ...(await readTrustedApprovers(data)) };
  if (!facts.uncertain && approvedStill(sent.sending, context)) return plain;
  const { idempotencyKey, sending } = sent;
  const requestedBy = [replayedBy, sending.requestedBy];
  const { requestDigest } = sending;
  const judged = await judgeCarried(approval, {
    ...{ ...context, idempotencyKey, requestedBy, requestDigest },
  });
  return judged.ok
    ? { kind: 'judged', allowed: { confirmUncertain, approval: judged.approval } }
    : { kind: 'approval_required', code: judged.code, detail: judged.problem };
}
