/**
 * Who replays and why, as it is kept for good in audit log and receipt: bounded plain text. The API
 * and the signal from the Temporal UI take the same.
 */

export const MAX_REPLAYED_BY = 255;
export const MAX_REPLAY_REASON = 500;

/** Control characters, and half of a surrogate pair, which no row can hold. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

export interface ReplayWish {
  readonly replayedBy: string;
  readonly reason: string;
}

export type CheckedReplay =
  ({ readonly ok: true } & ReplayWish) | { readonly ok: false; readonly problem: string };

/** Reads the input of the signal `replay`: whatever somebody typed there. */
export function checkReplaySignal(input: unknown): CheckedReplay {
  const given = input ?? {};
  if (typeof given !== 'object' || Array.isArray(given)) {
    return { ok: false, problem: 'the input is not an object such as {"by": "…", "reason": "…"}' };
  }
  const { by = 'temporal-ui', reason = 'replayed from the Temporal UI' } = given as Record<
    string,
    unknown
  >;
  const problem =
    textProblem('by', by, MAX_REPLAYED_BY) ?? textProblem('reason', reason, MAX_REPLAY_REASON);
  if (problem !== null) return { ok: false, problem };
  return { ok: true, replayedBy: String(by), reason: String(reason) };
}

function textProblem(field: string, value: unknown, limit: number): string | null {
  if (typeof value !== 'string' || value.trim() === '') return `\`${field}\` is not a text`;
  if (value.length > limit) return `\`${field}\` is longer than ${limit} characters`;
  return UNPRINTABLE.test(value) ? `\`${field}\` holds a control character` : null;
}
