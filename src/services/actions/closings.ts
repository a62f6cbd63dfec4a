/** What follows for an attempt from what its host answered. Pure. */
import type { FoundResult } from '../../db/action-steps';
import type { HostOutcome, HostRefusal, Progress } from '../../domain/host-protocol';
import type { Settlement, UnknownCause } from '../../domain/routes';
import type { HostResult } from '../../hosts/client/results';
import { provesNotStarted } from '../../hosts/client/results';
import type { Sendable } from '../../schemas/action-step-rows';

export type Closing =
  | { readonly kind: 'running'; readonly progress: Progress | null }
  | {
      readonly kind: 'settled';
      readonly settlement: Settlement;
      readonly unknownCause: UnknownCause | null;
      readonly result: FoundResult | null;
      readonly resultBytes: Buffer | null;
      readonly reason: string;
      readonly detail: string;
      readonly evidence: Readonly<Record<string, unknown>>;
      readonly highestFence: number | null;
      /** How long the provider wants to be left alone; null: it has not said. */
      readonly retryAfterMs: number | null;
    };

/** Refusals that no later try changes: nothing began, and nothing ever will. */
const FINAL_REFUSALS: readonly HostRefusal[] = [
  'request_invalid',
  'unknown_capability',
  'request_conflict',
];

/** What the call was, for a verdict on its end. */
export interface SentCall {
  readonly sendable: Sendable;
  /** Its host was at work before: only a final answer says more than that. */
  readonly resumed: boolean;
  readonly durationMs: number;
}

export function closingOf(result: HostResult, sent: SentCall): Closing {
  if (result.kind === 'answered' && result.outcome.kind === 'running') return result.outcome;
  const found = result.kind === 'answered' ? resultOf(result.outcome) : null;
  const nothing = found === null && !sent.resumed && provesNotStarted(result);
  const end = found ?? (nothing ? finalRefusal(result, sent.sendable) : null);
  const { durationMs, sendable } = sent;
  return {
    kind: 'settled',
    settlement: found === null ? unresolved(nothing) : settlementOf(found.result),
    unknownCause: nothing || found !== null ? null : causeOf(result),
    result: end?.result ?? null,
    resultBytes: end?.bytes ?? null,
    ...wordsOf(result),
    evidence: { ...evidenceOf(result), durationMs, timeoutMs: sendable.timeoutMs },
    highestFence: result.kind === 'refused' ? result.highestFence : null,
    retryAfterMs: result.kind === 'refused' ? result.retryAfterMs : null,
  };
}

/** A final outcome as it is written; null: it is none. */
export function resultOf(
  outcome: HostOutcome,
): { readonly result: FoundResult; readonly bytes: Buffer | null } | null {
  switch (outcome.kind) {
    case 'succeeded':
      return {
        result: { outcome: 'succeeded', errorCode: null, detail: null },
        bytes: Buffer.from(JSON.stringify(outcome.result)),
      };
    case 'failed': {
      const { errorCode, detail } = outcome;
      return { result: { outcome: 'failed', errorCode, detail }, bytes: null };
    }
    case 'cancelled':
      return { result: { outcome: 'cancelled', errorCode: null, detail: null }, bytes: null };
    case 'running':
    case 'not_started':
    case 'unknown':
      return null;
  }
}

/** A stable reason and a sentence for people. */
export function wordsOf(result: HostResult): { readonly reason: string; readonly detail: string } {
  switch (result.kind) {
    case 'answered':
      return { reason: result.outcome.kind, detail: OUTCOMES[result.outcome.kind] };
    case 'refused':
      return { reason: result.refusal, detail: refusedDetail(result) };
    case 'not_sent':
    case 'lost':
      return { reason: result.reason, detail: result.detail };
  }
}

/** What is kept beside a verdict, for people: no payload, no secret. */
export function evidenceOf(result: HostResult): Readonly<Record<string, unknown>> {
  switch (result.kind) {
    case 'answered':
      return { answer: result.outcome.kind, storeEpoch: result.storeEpoch };
    case 'refused': {
      const { refusal, started, highestFence, storeEpoch, retryAfterMs } = result;
      const asked = retryAfterMs === null ? {} : { retryAfterMs };
      return { answer: 'refused', refusal, started, highestFence, storeEpoch, ...asked };
    }
    case 'not_sent':
      return { answer: 'not_sent', why: result.reason };
    case 'lost':
      return { answer: 'lost', why: result.reason, cause: result.cause };
  }
}

function refusedDetail({
  refusal,
  retryAfterMs,
}: Extract<HostResult, { kind: 'refused' }>): string {
  if (retryAfterMs === null) return `its host refused: ${refusal}`;
  return `the provider wants to be left alone for ${Math.ceil(retryAfterMs / 1000)} s`;
}

function settlementOf({ outcome }: FoundResult): Settlement {
  return outcome === 'cancelled' ? 'cancelled' : 'completed';
}

function unresolved(nothingBegan: boolean): Settlement {
  return nothingBegan ? 'not_started' : 'outcome_unknown';
}

/** A host that says that it does not know has answered: that is no fault of its. */
function causeOf(result: HostResult): UnknownCause {
  return result.kind === 'lost' ? result.cause : 'ours';
}

function finalRefusal(
  result: HostResult,
  { uncertain }: Sendable,
): { readonly result: FoundResult; readonly bytes: null } | null {
  // While an earlier try is in doubt, a refusal of this one says nothing about that.
  if (uncertain || result.kind !== 'refused') return null;
  if (!FINAL_REFUSALS.includes(result.refusal)) return null;
  const errorCode = `host_refused.${result.refusal}`;
  return { result: { outcome: 'failed', errorCode, detail: wordsOf(result).detail }, bytes: null };
}

const OUTCOMES: Readonly<Record<HostOutcome['kind'], string>> = {
  succeeded: 'its host has done it',
  failed: 'its host says that it cannot be done',
  cancelled: 'its host has stopped it',
  running: 'its host is at work',
  not_started: 'its host says that nothing began',
  unknown: 'its host cannot tell what became of it',
};
