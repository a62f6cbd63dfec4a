/**
 * What the answer to something that is sent means (docs/architecture, "Sending"). Unlike a webhook's
 * target a vendor need not know its repeats: what may have been taken is sent again only where the
 * vendor knows them.
 */
import type { FailureReason, HttpAnswer, Verdict } from './attempts';
import { judgeHttpAnswer } from './attempts';

/**
 * Why what the vendor may have taken is not sent again: it may have been sent since the backup that was
 * restored; the operation has no key of the vendor's any more; it asks for something else by now; it is so
 * long ago that the vendor need not know the key any more.
 */
export const SENDING_DOUBTS = ['restored', 'key_gone', 'request_changed', 'key_forgotten'] as const;
export type SendingDoubt = (typeof SENDING_DOUBTS)[number];

export interface SendingRules {
  /** Statuses that are a success; null: every one of 2xx. */
  readonly statuses: readonly number[] | null;
  /** The vendor does one request once, however often it gets it, or nothing at all for it. */
  readonly resendable: boolean;
}

/** A gateway had no answer from what is behind it, which may have taken the request. */
const GATEWAY_LOST: readonly number[] = [502, 504];
/** The request is to be made again elsewhere as it is: it was not carried out here. */
const NOT_HERE: readonly number[] = [307, 308];
/** It says itself that it cannot do it now. Any other 5xx may come from the middle of the work. */
const UNAVAILABLE = 503;

export function judgeSending(answer: HttpAnswer, rules: SendingRules): Verdict {
  const verdict = { ...judgeHttpAnswer(answer), pausesSubscription: false };
  if (answer.kind === 'answered' && isOpen(answer, rules)) {
    const lost = GATEWAY_LOST.includes(answer.status);
    return unknownVerdict(lost ? 'answer_lost' : (verdict.reason ?? 'status_refused'), rules);
  }
  return verdict.outcome === 'unknown' ? { ...verdict, mayRetry: rules.resendable } : verdict;
}

/** It does not say that nothing was done. */
function isOpen(
  { status, bodyAccepted, bodyUnclear }: Extract<HttpAnswer, { kind: 'answered' }>,
  { statuses }: SendingRules,
): boolean {
  if (status >= 500) return status !== UNAVAILABLE;
  if (status >= 300) return status < 400 && !NOT_HERE.includes(status);
  // The declared check found its failure there: the vendor says that it did not do it.
  if (bodyAccepted === false) return bodyUnclear === true;
  return status >= 200 && statuses?.includes(status) === false;
}

export function unknownVerdict(
  reason: FailureReason,
  { resendable }: Pick<SendingRules, 'resendable'>,
): Verdict {
  return { outcome: 'unknown', reason, mayRetry: resendable, pausesSubscription: false };
}
