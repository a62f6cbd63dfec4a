/**
 * Closing an attempt: from the verdict to the decision about the delivery, its receipt, and the one
 * statement that writes both.
 */
import type { AttemptClose } from '../db/deliveries';
import type { FailureReason, Verdict } from '../domain/attempts';
import { targetHealth } from '../domain/attempts';
import type { AttemptAnswer, DeliveryRef } from '../domain/delivery-activities';
import type { DeliveryReceiptBody, ReceiptRow } from '../domain/receipts';
import { decideRetry } from '../domain/retry';
import { point } from '../points';
import type { CloseAttemptAnswer, DeliveryFacts, DispatchChain } from '../schemas/delivery-rows';
import type { AttemptServices } from './attempt-services';
import { countedAs } from './delivery-metrics';
import { patiently } from './patience';
import { commonData, nextReceipt, withReceipt } from './receipts';

export interface ClosableAttempt {
  readonly ref: DeliveryRef;
  readonly attempt: number;
  readonly info: DeliveryFacts & DispatchChain;
  /** The database's clock, in ms. */
  readonly clock: () => number;
}

export interface AttemptResult {
  readonly verdict: Verdict;
  readonly detail: string;
  /** What the target answered; absent when it was not called. */
  readonly report?: {
    /** Null where the target does not speak HTTP. */
    readonly status: number | null;
    readonly durationMs: number;
    readonly startedAtMs: number;
    readonly answerSha256: string | null;
    /** The answer's first bytes, as text for people. */
    readonly answerHead: string | null;
  };
  readonly retryAfterMs?: number | null;
  /** The next attempt, if the budget allows one, need not wait for the profile's delay. */
  readonly immediate?: boolean;
}

type Decision =
  | { readonly next: 'acknowledged' }
  | { readonly next: 'retry'; readonly delayMs: number }
  | { readonly next: 'failed' };

/** Closes the attempt and carries out what follows from the verdict. */
export async function closeWithVerdict(
  services: AttemptServices,
  attempt: ClosableAttempt,
  result: AttemptResult,
): Promise<AttemptAnswer> {
  const decision = decide(services, attempt, result);
  const close = closeOf(attempt, result, decision);
  const { tenantId, deliveryId } = attempt.ref;
  const at = { tenantId, deliveryId, attempt: attempt.attempt };
  const write = (receipt: ReceiptRow | null) =>
    patiently(() => services.closings.close({ at, close, receipt }));
  const answer: CloseAttemptAnswer =
    decision.next === 'retry'
      ? await write(null)
      : await withReceipt<CloseAttemptAnswer>(
          attempt.info,
          (head) =>
            nextReceipt(services.signingKey, {
              ref: attempt.ref,
              facts: head,
              atMs: attempt.clock(),
              body: receiptBody(attempt, head, result, decision.next),
            }),
          write,
        );
  await point('attempt.closed');
  if (answer.answer !== 'closed') return { kind: 'superseded', attempt: attempt.attempt };
  if (decision.next !== 'retry') {
    const state = decision.next === 'acknowledged' ? 'Acknowledged' : 'Failed';
    services.metrics?.reached(state, countedAs(attempt.ref, attempt.info));
  }
  return told(attempt, result, decision);
}

function decide(
  services: AttemptServices,
  attempt: ClosableAttempt,
  result: AttemptResult,
): Decision {
  if (result.verdict.outcome === 'acknowledged') return { next: 'acknowledged' };
  if (!result.verdict.mayRetry) return { next: 'failed' };
  const profile = attempt.info.retry;
  const decision = decideRetry(result.immediate === true ? { ...profile, ...AT_ONCE } : profile, {
    attemptsUsed: attempt.info.seriesAttempts,
    elapsedMs: attempt.info.seriesElapsedMs + (result.report?.durationMs ?? 0),
    retryAfterMs: result.retryAfterMs ?? null,
    random: services.random(),
  });
  if (!decision.retry) return { next: 'failed' };
  return { next: 'retry', delayMs: decision.delayMs };
}

const AT_ONCE = { backoff: { kind: 'list', delaysMs: [0] } } as const;

/**
 * Why the delivery fails. Where an attempt of something that is sent may have been taken, nobody knows,
 * whatever the last one came to.
 */
function failReason({ info }: ClosableAttempt, { verdict }: AttemptResult): FailureReason {
  const onlyReads = info.targetKind === 'outbound' && info.onlyReads;
  const doubted = info.uncertain || (verdict.outcome === 'unknown' && !onlyReads);
  if (info.direction === 'outbound' && doubted) return 'uncertain';
  return verdict.reason ?? 'status_refused';
}

function closeOf(
  attempt: ClosableAttempt,
  result: AttemptResult,
  decision: Decision,
): AttemptClose {
  return {
    outcome: result.verdict.outcome,
    reason: result.verdict.reason,
    failReason: decision.next === 'failed' ? failReason(attempt, result) : null,
    detail: result.detail,
    status: result.report?.status ?? null,
    durationMs: result.report?.durationMs ?? null,
    answerSha256: result.report?.answerSha256 ?? null,
    answerHead: result.report?.answerHead ?? null,
    decision: decision.next,
    delayMs: decision.next === 'retry' ? decision.delayMs : null,
    pauseSubscription: result.verdict.pausesSubscription,
    targetHealth: attempt.info.targetKind === 'http' ? targetHealth(result.verdict) : null,
  };
}

function receiptBody(
  attempt: ClosableAttempt,
  head: DeliveryFacts,
  result: AttemptResult,
  next: 'acknowledged' | 'failed',
): DeliveryReceiptBody {
  // Spreading it into a literal takes twenty times as long, for every delivery.
  const common = commonData(attempt.ref, head);
  const { report } = result;
  if (next === 'failed') {
    return {
      kind: 'failed',
      data: Object.assign(common, {
        attempts: head.attempts,
        reason: failReason(attempt, result),
        lastStatus: report?.status ?? null,
      }),
    };
  }
  return {
    kind: 'acknowledged',
    data: Object.assign(common, receiptTarget(attempt.info), {
      attempt: attempt.attempt,
      fence: attempt.attempt,
      status: report?.status ?? null,
      answerSha256: report?.answerSha256 ?? null,
      startedAt: new Date(report?.startedAtMs ?? 0).toISOString(),
      durationMs: report?.durationMs ?? 0,
    }),
  };
}

function receiptTarget(info: ClosableAttempt['info']) {
  const { targetId, targetKind } = info;
  if (targetKind !== 'outbound') return { targetId, targetKind };
  // The vendor's own address is the connection's business.
  return { targetId: null, targetKind: info.target?.kind ?? 'http' };
}

function told(attempt: ClosableAttempt, result: AttemptResult, decision: Decision): AttemptAnswer {
  // Only an acknowledgement has no reason.
  const reason: FailureReason = result.verdict.reason ?? 'status_refused';
  const { detail } = result;
  switch (decision.next) {
    case 'acknowledged':
      return { kind: 'acknowledged', attempt: attempt.attempt };
    case 'failed':
      return {
        ...{ kind: 'failed', attempts: attempt.info.attempts, detail },
        reason: failReason(attempt, result),
      };
    case 'retry':
      return { kind: 'retry', attempt: attempt.attempt, reason, detail, dueInMs: decision.delayMs };
  }
}
