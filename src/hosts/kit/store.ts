/**
 * The host's memory of what it was asked to do. It is what makes one effect out of several requests:
 * whoever implements this port promises that a change is on disk before its promise resolves.
 */
import type { FinalOutcome } from '../../domain/host-protocol';

export interface ActionRef {
  readonly tenant: string;
  readonly action: string;
}

export interface ActionRecord {
  readonly highestFence: number;
  /** The highest fence came with a reconcile or cancel: an `execute` needs a higher one still. */
  readonly sealed: boolean;
  /** `fenced`: a fence alone. `intent`: the connector may have been called. */
  readonly state: 'fenced' | 'intent' | 'finished';
  /** Null while it is fenced, and for a cancel that overtook its action. */
  readonly work: RecordedWork | null;
  readonly outcome: FinalOutcome | null;
}

export interface RecordedWork {
  readonly capability: string;
  readonly requestSha256: string;
  /** The body, for a recovery after a restart; dropped once it is finished. */
  readonly request: string | null;
  readonly credentialRevision: string;
  readonly approval: string | null;
  /** When the connector was last called, by the host's clock. */
  readonly intentAtMs: number;
  /** How many times it was called. */
  readonly tries: number;
}

/** A token that is used up by the change, also when the change refuses. */
export interface UsedToken {
  readonly jti: string;
  readonly expiresAtMs: number;
}

/** A pure decision: the record as it is to be (null: as it was), and what to say. */
export interface Change<Answer> {
  readonly record: ActionRecord | null;
  readonly answer: Answer;
}

export type Decide<Answer> = (record: ActionRecord | null, tokenUsed: boolean) => Change<Answer>;

export interface HostStore {
  /** Drawn when the store was made, and never again: another one means that all is forgotten. */
  readonly epoch: string;
  /**
   * One atomic, durable step on one action's record; `decide` may run more than once. `tokenUsed` is
   * whether the token had been used before this step.
   */
  update<Answer>(ref: ActionRef, token: UsedToken | null, decide: Decide<Answer>): Promise<Answer>;
  read(ref: ActionRef): Promise<ActionRecord | null>;
  /** The sequence of the last lifecycle call that was accepted; 0 at first. */
  lifecycleSequence(): Promise<number>;
  rememberLifecycleSequence(sequence: number): Promise<void>;
  /**
   * Forgets at most `limit` tokens that have expired and at most `limit` records without an open
   * intent that were last changed before `changedBeforeMs`. Returns how many records.
   */
  prune(at: PruneBounds): Promise<number>;
  close(): Promise<void>;
}

export interface PruneBounds {
  readonly nowMs: number;
  readonly changedBeforeMs: number;
  readonly limit: number;
}
