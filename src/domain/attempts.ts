/**
 * What one attempt of a delivery can come to, and what follows from it. An attempt is *closed* with
 * one outcome; the decision about the delivery is made in the same transaction.
 */

/**
 * `acknowledged`: the target took it. `refused`: the target answered and did not take it.
 * `not_sent`: proof that nothing reached the target. `unknown`: it may have been taken, nobody
 * heard.
 */
export const ATTEMPT_OUTCOMES = ['acknowledged', 'refused', 'not_sent', 'unknown'] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** Why an attempt did not acknowledge, or why a delivery failed. Stable words for lists and API. */
export const FAILURE_REASONS = [
  'status_refused',
  'redirect_refused',
  'body_refused',
  'target_gone',
  'permanent_refusal',
  'connection_refused',
  'connection_failed',
  'address_refused',
  'timed_out',
  'answer_lost',
  'worker_lost',
  'not_begun',
  'secret_unavailable',
  'payload_unreadable',
  'subscription_deactivated',
  'instance_revoked',
  'connector_revoked',
  // Of a target that is a workflow.
  'workflow_not_allowed',
  'workflow_refused',
  // Of a target that is an action.
  'capability_unavailable',
  'approval_required',
  'action_request_invalid',
  'action_conflict',
  'action_failed',
  'action_cancelled',
  // Of what is sent.
  'uncertain',
  'request_invalid',
  'deadline_exceeded',
  'grant_missing',
  'operation_unknown',
  'approval_missing',
  'approval_expired',
  'approver_untrusted',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/** `address_refused`: its address is one that must not be called. */
export type NotSent = 'connection_refused' | 'connection_failed' | 'address_refused';

/** What an HTTP target did with one attempt. */
export type HttpAnswer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** Raw Retry-After field, if any. */
      readonly retryAfter: string | null;
      /** The declared check on the body: null when none is declared. */
      readonly bodyAccepted: boolean | null;
      /** What the check compares is not in the body, which may be cut off: it says neither yes nor no. */
      readonly bodyUnclear?: true;
    }
  | {
      readonly kind: 'not_sent';
      readonly reason: NotSent;
      /** The URL says so itself: no later attempt can help. */
      readonly forGood?: true;
    }
  | { readonly kind: 'lost'; readonly reason: 'timed_out' | 'answer_lost' };

export interface Verdict {
  readonly outcome: AttemptOutcome;
  readonly reason: FailureReason | null;
  /** False: no later attempt of this series can help. */
  readonly mayRetry: boolean;
  /** True: the target is gone for good and the subscription is paused. */
  readonly pausesSubscription: boolean;
}

/** What an attempt says of the target itself, which is what its breaker goes by. */
export type TargetHealth = 'healthy' | 'failing';

/** Nobody answered as a target that works would: the next delivery would fare no better. */
const FAILING: readonly (FailureReason | null)[] = [
  'status_refused',
  'redirect_refused',
  'connection_refused',
  'connection_failed',
  'timed_out',
  'answer_lost',
];
/** It answered, and refused this one delivery. */
const ANSWERING: readonly (FailureReason | null)[] = [
  'body_refused',
  'target_gone',
  'permanent_refusal',
];

/** Null: nothing, as where a worker was lost or nothing was sent for want of a secret. */
export function targetHealth({ outcome, reason }: Verdict): TargetHealth | null {
  if (outcome === 'acknowledged' || ANSWERING.includes(reason)) return 'healthy';
  return FAILING.includes(reason) ? 'failing' : null;
}

/** Statuses of 4xx that a later attempt can cure. */
const PASSING_4XX: readonly number[] = [408, 425, 429];

/** Judges an answer (docs/architecture, "Reading the answer"). */
export function judgeHttpAnswer(answer: HttpAnswer): Verdict {
  switch (answer.kind) {
    case 'not_sent':
      return verdict('not_sent', answer.reason, answer.forGood !== true);
    case 'lost':
      return verdict('unknown', answer.reason, true);
    case 'answered':
      return judgeStatus(answer.status, answer.bodyAccepted);
  }
}

function judgeStatus(status: number, bodyAccepted: boolean | null): Verdict {
  if (status >= 200 && status < 300) {
    return bodyAccepted === false
      ? verdict('refused', 'body_refused', true)
      : verdict('acknowledged', null, false);
  }
  if (status >= 300 && status < 400) return verdict('refused', 'redirect_refused', true);
  if (status === 410) {
    return { ...verdict('refused', 'target_gone', false), pausesSubscription: true };
  }
  if (status >= 400 && status < 500 && !PASSING_4XX.includes(status)) {
    return verdict('refused', 'permanent_refusal', false);
  }
  return verdict('refused', 'status_refused', true);
}

function verdict(
  outcome: AttemptOutcome,
  reason: FailureReason | null,
  mayRetry: boolean,
): Verdict {
  return { outcome, reason, mayRetry, pausesSubscription: false };
}
