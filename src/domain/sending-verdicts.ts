/**
 * What the answer to something that is sent means (docs/architecture, "Sending"). Unlike a webhook's
 * target a vendor need not know its repeats: what may have been taken is sent again only where the
 * vendor knows them.
 */
import type { HttpAnswer, Verdict } from './attempts';
import { judgeHttpAnswer } from './attempts';

export interface SendingRules {
  /** Statuses that are a success; null: every one of 2xx. */
  readonly statuses: readonly number[] | null;
  /** The vendor does one request once, however often it gets it. */
  readonly resendable: boolean;
}

/** A gateway had no answer from what is behind it, which may have taken the request. */
const GATEWAY_LOST: readonly number[] = [502, 504];

export function judgeSending(answer: HttpAnswer, rules: SendingRules): Verdict {
  if (answer.kind === 'answered' && GATEWAY_LOST.includes(answer.status)) {
    return unknownVerdict('answer_lost', rules);
  }
  const unexpected =
    answer.kind === 'answered' &&
    answer.status >= 200 &&
    answer.status < 300 &&
    rules.statuses?.includes(answer.status) === false;
  if (unexpected) {
    const ended = { mayRetry: false, pausesSubscription: false };
    return { outcome: 'refused', reason: 'status_refused', ...ended };
  }
  const verdict = { ...judgeHttpAnswer(answer), pausesSubscription: false };
  return verdict.outcome === 'unknown' ? { ...verdict, mayRetry: rules.resendable } : verdict;
}

export function unknownVerdict(
  reason: 'answer_lost' | 'worker_lost',
  { resendable }: Pick<SendingRules, 'resendable'>,
): Verdict {
  return { outcome: 'unknown', reason, mayRetry: resendable, pausesSubscription: false };
}
