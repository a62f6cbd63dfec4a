/**
 * What may happen to an action's record, as pure functions over it: the same for every store. Each is
 * one atomic step of `HostStore.update`.
 */
import type { FinalOutcome, HostRefusal } from '../../domain/host-protocol';
import type { ActionRecord, Change, Decide, RecordedWork } from './store';

export interface StoreRefusal {
  readonly kind: 'refused';
  readonly refusal: Extract<HostRefusal, 'token_replayed' | 'stale_fence' | 'request_conflict'>;
  readonly started: boolean;
  readonly highestFence: number | null;
}

export type BeginAnswer =
  | StoreRefusal
  /** The intent is durable: the connector is to be called, by this caller alone. */
  | { readonly kind: 'begun'; readonly work: RecordedWork }
  /** Begun before, and without a result. */
  | { readonly kind: 'intent'; readonly work: RecordedWork }
  | { readonly kind: 'finished'; readonly outcome: FinalOutcome };

export type FenceAnswer = Exclude<BeginAnswer, { kind: 'begun' }> | { readonly kind: 'nothing' };

export interface BeginStep {
  readonly fence: number;
  readonly work: Omit<RecordedWork, 'tries'>;
  /** An intent without result is taken up again: its recovery said that this is safe. */
  readonly again: boolean;
  /** A person's word that an intent without result had no effect; good under a fence above it alone. */
  readonly anew: boolean;
}

/** As good as no record; every fence is above its own. */
const NOTHING: ActionRecord = {
  highestFence: 0,
  sealed: false,
  state: 'fenced',
  work: null,
  outcome: null,
};

/** Intent before effect. A repeat of the same action is told what became of it. */
export function begin({ fence, work, again, anew }: BeginStep): Decide<BeginAnswer> {
  return (record, tokenUsed) => {
    const known = record ?? NOTHING;
    if (tokenUsed) return unchanged(refusal('token_replayed', record));
    if (!admits(known, fence)) return unchanged(refusal('stale_fence', record));
    if (known.work !== null && isOther(known.work, work)) {
      return unchanged(refusal('request_conflict', record));
    }
    const raised = fence > known.highestFence ? { highestFence: fence, sealed: false } : {};
    if (known.outcome !== null) return keep({ ...known, ...raised }, finished(known.outcome));
    const mayBegin = again || (anew && fence > known.highestFence);
    if (known.work !== null && !mayBegin) return keep({ ...known, ...raised }, intent(known.work));
    const begun = { ...work, tries: (known.work?.tries ?? 0) + 1 };
    const fresh = { highestFence: fence, sealed: false, state: 'intent', outcome: null } as const;
    return keep({ ...fresh, work: begun }, { kind: 'begun', work: begun });
  };
}

/**
 * Stores the fence of a reconcile or cancel: from now on an `execute` needs a higher one. A cancel of
 * an action that was never begun leaves a tombstone, which every later `execute` is answered with.
 */
export function fenceOff(fence: number, onNothing: 'seal' | 'tombstone'): Decide<FenceAnswer> {
  return (record, tokenUsed) => {
    const known = record ?? NOTHING;
    if (tokenUsed) return unchanged(refusal('token_replayed', record));
    if (fence < known.highestFence) return unchanged(refusal('stale_fence', record));
    const sealed = { ...known, highestFence: fence, sealed: true };
    if (known.outcome !== null) return keep(sealed, finished(known.outcome));
    if (known.work !== null) return keep(sealed, intent(known.work));
    if (onNothing === 'seal') return keep(sealed, { kind: 'nothing' });
    const outcome = { kind: 'cancelled' } as const;
    return keep({ ...sealed, state: 'finished', outcome }, finished(outcome));
  };
}

/**
 * As `fenceOff`, of an action that was sent before this memory was there: where nothing is known of it,
 * it is an intent like any other from now on, and only its recovery can say that nothing began.
 */
export function adopt(fence: number, work: Omit<RecordedWork, 'tries'>): Decide<FenceAnswer> {
  return (record, tokenUsed) => {
    const fenced = fenceOff(fence, 'seal')(record, tokenUsed);
    if (fenced.answer.kind === 'refused') {
      // Nothing may be concluded from a refusal either: this memory was not there.
      return unchanged({ ...fenced.answer, started: true });
    }
    const known = record?.work ?? null;
    if (known !== null && isOther(known, work)) {
      return unchanged(refusal('request_conflict', record));
    }
    if (fenced.answer.kind !== 'nothing') return fenced;
    const adopted = { ...work, tries: 1 };
    const sealed = { highestFence: fence, sealed: true, state: 'intent', outcome: null } as const;
    return keep({ ...sealed, work: adopted }, intent(adopted));
  };
}

/** The result, written once: the answer is the one that stands. */
export function finish(outcome: FinalOutcome): Decide<FinalOutcome> {
  return (record) => {
    const known = record ?? NOTHING;
    if (known.outcome !== null) return unchanged(known.outcome);
    if (known.work === null) {
      throw new Error('an action that was never begun cannot be finished');
    }
    const work = { ...known.work, request: null };
    return keep({ ...known, state: 'finished', work, outcome }, outcome);
  };
}

/** Takes an intent back that is proven to have had no effect. */
export function withdraw(): Decide<null> {
  return (record) => {
    if (record?.state !== 'intent') return unchanged(null);
    return keep({ ...record, state: 'fenced', work: null }, null);
  };
}

/** Whether anything of it may have begun. */
export function hasStarted(record: ActionRecord | null): boolean {
  return (record ?? NOTHING).work !== null;
}

function admits(record: ActionRecord, fence: number): boolean {
  return record.sealed ? fence > record.highestFence : fence >= record.highestFence;
}

function isOther(known: RecordedWork, asked: Omit<RecordedWork, 'tries'>): boolean {
  return known.capability !== asked.capability || known.requestSha256 !== asked.requestSha256;
}

function refusal(code: StoreRefusal['refusal'], record: ActionRecord | null): StoreRefusal {
  const highestFence = record?.highestFence ?? null;
  return { kind: 'refused', refusal: code, started: hasStarted(record), highestFence };
}

function finished(outcome: FinalOutcome): { kind: 'finished'; outcome: FinalOutcome } {
  return { kind: 'finished', outcome };
}

function intent(work: RecordedWork): { kind: 'intent'; work: RecordedWork } {
  return { kind: 'intent', work };
}

function unchanged<Answer>(answer: Answer): Change<Answer> {
  return { record: null, answer };
}

function keep<Answer>(record: ActionRecord, answer: Answer): Change<Answer> {
  return { record, answer };
}
