/**
 * What a fencing call has found out, and what follows by the capability's recovery
 * (docs/architecture, "Finding out"). Pure.
 */
import type { Found } from '../../db/action-steps';
import { askDelayMs } from '../../domain/action-retry';
import type { HostResult } from '../../hosts/client/results';
import type { Askable } from '../../schemas/action-step-rows';
import { resultOf, wordsOf } from './closings';

export interface Conclusion {
  readonly found: Found;
  readonly resultBytes: Buffer | null;
  /** A fence that the host knows; the next one goes above it. */
  readonly highestFence: number | null;
  /** The memory to ask next, although the action was not sent to it. */
  readonly adopt: string | null;
}

export interface Round {
  readonly round: number;
  /** In [0, 1). */
  readonly random: number;
}

export function conclusionOf(result: HostResult, asked: Askable, at: Round): Conclusion {
  const plain = { resultBytes: null, highestFence: null, adopt: null };
  switch (result.kind) {
    case 'answered': {
      const final = resultOf(result.outcome);
      if (final !== null) {
        return {
          ...plain,
          found: { kind: 'result', result: final.result },
          resultBytes: final.bytes,
        };
      }
      if (result.outcome.kind === 'not_started')
        return { ...plain, found: { kind: 'not_started' } };
      if (result.outcome.kind === 'unknown') return { ...plain, found: unclear(result, asked, at) };
      return { ...plain, found: again(result, at) };
    }
    case 'refused':
      if (result.refusal === 'stale_fence') {
        const found = untilDeadline(result, asked, at);
        // At once, with a fence above that one; a host that goes on refusing is asked like any other.
        const first = found.kind === 'again' && at.round === 0 ? { ...found, inMs: 0 } : found;
        return { ...plain, found: first, highestFence: result.highestFence };
      }
      return { ...plain, found: untilDeadline(result, asked, at) };
    case 'lost':
      if (result.reason === 'store_lost') return lostStore(result, asked, at);
      return { ...plain, found: untilDeadline(result, asked, at) };
    case 'not_sent':
      return { ...plain, found: untilDeadline(result, asked, at) };
  }
}

/** The host cannot tell: whether doing it again is safe, looking later may help, or nothing does. */
function unclear(result: HostResult, asked: Askable, at: Round): Found {
  if (isRepeatable(asked)) {
    return { kind: 'repeatable', detail: wordsOf(result).detail };
  }
  if (asked.recovery === 'lookup') return untilDeadline(result, asked, at);
  return {
    kind: 'needs_operator',
    reason: 'outcome_unknown',
    detail: 'its host cannot tell, and this capability has no way to find out',
  };
}

/** Its host has lost its memory, and with it everything that it knew of the action. */
function lostStore(
  result: Extract<HostResult, { reason: 'store_lost' }>,
  asked: Askable,
  at: Round,
): Conclusion {
  const plain = { resultBytes: null, highestFence: null, adopt: null };
  const detail = 'its host has lost its records';
  if (isRepeatable(asked)) {
    return { ...plain, found: { kind: 'repeatable', detail } };
  }
  if (asked.recovery === 'lookup') {
    const found = { ...again(result, at), inMs: 0, detail: `${detail}, and is asked to look` };
    return { ...plain, found, adopt: result.storeEpoch };
  }
  const found = {
    kind: 'needs_operator',
    reason: 'store_lost',
    detail: `${detail}, and this capability has no way to find out`,
  } as const;
  return { ...plain, found };
}

/** Asked again until the action's deadline; then it is for a person. */
function untilDeadline(result: HostResult, asked: Askable, at: Round): Found {
  const words = wordsOf(result);
  if (asked.actionDeadlineInMs > 0) return again(result, at);
  const detail = `its deadline has passed and what became of it is not known: ${words.detail}`;
  return { kind: 'needs_operator', reason: words.reason, detail };
}

function again(result: HostResult, { round, random }: Round): Extract<Found, { kind: 'again' }> {
  const running = result.kind === 'answered' && result.outcome.kind === 'running';
  const progress = running ? result.outcome.progress : null;
  return { kind: 'again', ...wordsOf(result), inMs: askDelayMs(round, random), progress };
}

function isRepeatable({ recovery, sideEffect }: Askable): boolean {
  return recovery === 'provider_key' || sideEffect === 'read';
}
