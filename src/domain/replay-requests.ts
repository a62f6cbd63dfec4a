/**
 * Who replays and why, as it is kept for good in audit log and receipt: bounded plain text. The API
 * and the signal from the Temporal UI take the same.
 */

import { MAX_PERSON, MAX_REASON, fieldsOf, textProblem } from './plain-text';

export const MAX_REPLAYED_BY = MAX_PERSON;
export const MAX_REPLAY_REASON = MAX_REASON;

export interface ReplayWish {
  readonly replayedBy: string;
  readonly reason: string;
}

export type CheckedReplay =
  ({ readonly ok: true } & ReplayWish) | { readonly ok: false; readonly problem: string };

/** Reads the input of the signal `replay`: whatever somebody typed there. */
export function checkReplaySignal(input: unknown): CheckedReplay {
  const given = fieldsOf(input);
  if (given === null) {
    return { ok: false, problem: 'the input is not an object such as {"by": "…", "reason": "…"}' };
  }
  const { by = 'temporal-ui', reason = 'replayed from the Temporal UI' } = given;
  const problem =
    textProblem('by', by, MAX_REPLAYED_BY) ?? textProblem('reason', reason, MAX_REPLAY_REASON);
  if (problem !== null) return { ok: false, problem };
  return { ok: true, replayedBy: String(by), reason: String(reason) };
}
