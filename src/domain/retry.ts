/**
 * When the next attempt of a series is due. Pure: elapsed time, Retry-After and randomness are
 * parameters; the due time itself is written by the database on its own clock.
 */

export interface RetryProfile {
  /** Attempts of one series, the first one included. */
  readonly attempts: number;
  /** Delay before attempt 2, 3, …; either grown from a base or listed. The last entry repeats. */
  readonly backoff:
    | { readonly kind: 'exponential'; readonly baseMs: number; readonly maxMs: number }
    | { readonly kind: 'list'; readonly delaysMs: readonly number[] };
  /** 0…1: a delay grows by up to this share of itself, at random; it never shrinks. */
  readonly jitter: number;
  /** No attempt starts later than this after the first one of the series; null = no such limit. */
  readonly totalSpanMs: number | null;
  /** A longer Retry-After is cut to this. */
  readonly retryAfterCapMs: number;
}

export const DEFAULT_RETRY_PROFILE: RetryProfile = {
  attempts: 5,
  backoff: { kind: 'exponential', baseMs: 30_000, maxMs: 3_600_000 },
  jitter: 0.1,
  totalSpanMs: null,
  retryAfterCapMs: 3_600_000,
};

export interface SeriesFacts {
  /** Attempts of this series that are closed, the one just closed included. */
  readonly attemptsUsed: number;
  /** Time since the first attempt of this series was opened. */
  readonly elapsedMs: number;
  /** What the target asked for, already parsed; null when it asked for nothing usable. */
  readonly retryAfterMs: number | null;
  /** A number in [0, 1). */
  readonly random: number;
}

export type RetryDecision =
  | { readonly retry: true; readonly delayMs: number }
  | { readonly retry: false; readonly reason: 'attempts_exhausted' | 'span_exhausted' };

/** The delay that the profile itself asks for after `attemptsUsed` attempts, without jitter. */
export function profileDelayMs(profile: RetryProfile, attemptsUsed: number): number {
  const nth = Math.max(1, attemptsUsed);
  if (profile.backoff.kind === 'list') {
    const delays = profile.backoff.delaysMs;
    return delays[Math.min(nth, delays.length) - 1] ?? 0;
  }
  const { baseMs, maxMs } = profile.backoff;
  // 2 ** 52 keeps the product finite; the cap then decides.
  return Math.min(maxMs, baseMs * 2 ** Math.min(nth - 1, 52));
}

/**
 * Whether and when to try again after a failed attempt (docs/architecture, "Retry"). Retry-After is
 * honoured up to the profile's cap and never brings an attempt forward.
 */
export function decideRetry(profile: RetryProfile, facts: SeriesFacts): RetryDecision {
  if (facts.attemptsUsed >= profile.attempts) {
    return { retry: false, reason: 'attempts_exhausted' };
  }
  const planned = profileDelayMs(profile, facts.attemptsUsed) * (1 + profile.jitter * facts.random);
  const asked = Math.min(facts.retryAfterMs ?? 0, profile.retryAfterCapMs);
  const delayMs = Math.round(Math.max(planned, asked));
  if (profile.totalSpanMs !== null && facts.elapsedMs + delayMs > profile.totalSpanMs) {
    return { retry: false, reason: 'span_exhausted' };
  }
  return { retry: true, delayMs };
}

/**
 * Reads a Retry-After field: whole seconds or an HTTP date. A date in the past is 0; anything else
 * (negative, fractional, several values, text) is null, so that the profile alone decides.
 */
export function parseRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  // However many digits: what is too long to wait is cut by the profile, and stays a whole number.
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  // The three HTTP date forms all begin with a day name; Date.parse alone would take "-3" or "1.5".
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*[, ]/.test(text)) return null;
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

/** Plain doubling from `firstMs` for the nth trouble in a row (1, 2, …), up to `maxMs`. */
export function backoffMs(nth: number, firstMs: number, maxMs: number): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(Math.max(0, nth - 1), 30));
}
