/**
 * What follows from a sink's answer to one event, and when it is tried again (docs/architecture,
 * "Event sinks"). Pure: Retry-After and randomness are parameters.
 */
import type { HttpAnswer } from './attempts';
import { profileDelayMs } from './retry';

export const SINK_STATES = ['active', 'paused'] as const;

/** Why a sink does not take events, or was paused. Stable words for lists. */
export type SinkReason =
  | 'event_refused'
  | 'too_many_refused'
  | 'status_refused'
  | 'redirect_refused'
  | 'target_gone'
  | 'connection_refused'
  | 'connection_failed'
  | 'timed_out'
  | 'answer_lost'
  | 'address_refused'
  | 'secret_unavailable';

/**
 * `taken`; `refused`: this event, for what it is: its aggregate waits, others go on; `failed`: the
 * sink as a whole, which waits; `gone`: the sink is paused.
 */
export type SinkVerdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused'; readonly reason: 'event_refused' }
  | { readonly kind: 'failed'; readonly reason: SinkReason }
  | { readonly kind: 'gone'; readonly reason: 'target_gone' };

/** Statuses that speak of the event, not of the sink: bad, too large, not of a kind it knows. */
const OF_THE_EVENT: readonly number[] = [400, 413, 415, 422];

export function judgeSinkAnswer(answer: HttpAnswer): SinkVerdict {
  if (answer.kind !== 'answered') return { kind: 'failed', reason: answer.reason };
  const { status } = answer;
  if (status >= 200 && status < 300) return { kind: 'taken' };
  if (status === 410) return { kind: 'gone', reason: 'target_gone' };
  if (OF_THE_EVENT.includes(status)) return { kind: 'refused', reason: 'event_refused' };
  const reason = status >= 300 && status < 400 ? 'redirect_refused' : 'status_refused';
  return { kind: 'failed', reason };
}

/** More than so many aggregates are not parked: then it is the sink that is at fault. */
export const MAX_PARKED = 100;

const SINK_BACKOFF = { kind: 'exponential', baseMs: 1_000, maxMs: 300_000 } as const;
const PARKED_BACKOFF = { kind: 'exponential', baseMs: 10_000, maxMs: 900_000 } as const;
const JITTER = 0.2;
const RETRY_AFTER_CAP_MS = 3_600_000;

export interface FailureFacts {
  /** In a row, this one included. */
  readonly failures: number;
  /** What the sink asked for; null when it asked for nothing usable. */
  readonly retryAfterMs: number | null;
  /** A number in [0, 1). */
  readonly random: number;
}

/** How long a sink that failed is left alone: 1 s, doubled up to 5 min; longer where it asks for it. */
export function sinkDelayMs(facts: FailureFacts): number {
  return delayMs(SINK_BACKOFF, facts);
}

/** How long a refused event waits: 10 s, doubled up to 15 min. */
export function parkedDelayMs(facts: FailureFacts): number {
  return delayMs(PARKED_BACKOFF, facts);
}

function delayMs(
  backoff: typeof SINK_BACKOFF | typeof PARKED_BACKOFF,
  { failures, retryAfterMs, random }: FailureFacts,
): number {
  const profile = { attempts: 1, backoff, jitter: JITTER, totalSpanMs: null, retryAfterCapMs: 0 };
  const own = Math.round(profileDelayMs(profile, failures) * (1 + JITTER * random));
  return Math.max(own, Math.min(retryAfterMs ?? 0, RETRY_AFTER_CAP_MS));
}
