/**
 * Bulk replay: the states of a job, what moves it, and the contract between its workflow and its
 * activities. References, counts and names only; no payload passes here.
 */
import type { ReplayJobId, TenantId } from './ids';
import { MAX_PERSON, MAX_REASON, fieldsOf, textProblem } from './plain-text';

export const BULK_REPLAY_STATES = [
  'planning',
  'planned',
  'running',
  'paused',
  'cancelled',
  'finished',
] as const;
export type BulkReplayState = (typeof BULK_REPLAY_STATES)[number];

/** What people do with a job; each is also the name of a signal of its workflow. */
export const BULK_REPLAY_MOVES = ['run', 'pause', 'resume', 'cancel'] as const;
export type BulkReplayMove = (typeof BULK_REPLAY_MOVES)[number];

/** From where each move is taken, and where it leads; in that state already, it is done already. */
export const BULK_REPLAY_TRANSITIONS: Readonly<
  Record<
    BulkReplayMove,
    { readonly from: readonly BulkReplayState[]; readonly to: BulkReplayState }
  >
> = {
  run: { from: ['planned'], to: 'running' },
  pause: { from: ['running'], to: 'paused' },
  resume: { from: ['paused'], to: 'running' },
  cancel: { from: ['planning', 'planned', 'running', 'paused'], to: 'cancelled' },
};

/** Why a planned delivery was not replayed. */
export const SKIP_REASONS = ['acknowledged', 'under_way', 'failed_anew', 'removed'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

export interface BulkReplayRef {
  readonly tenantId: TenantId;
  readonly jobId: ReplayJobId;
}

/** What a job has come to: planned = replayed + skipped + left; replayed = the other three. */
export interface BulkReplayCounts {
  readonly planned: number;
  readonly replayed: number;
  readonly acknowledged: number;
  readonly failedAgain: number;
  /** Replayed, and neither acknowledged nor failed again yet. */
  readonly open: number;
  readonly skipped: Readonly<Partial<Record<SkipReason, number>>>;
  /** Neither replayed nor skipped. */
  readonly left: number;
}

/** Where a job stands after a batch. */
export type BulkReplayStep =
  | { readonly kind: 'planning'; readonly counts: BulkReplayCounts }
  | { readonly kind: 'planned'; readonly counts: BulkReplayCounts }
  | {
      readonly kind: 'running';
      readonly counts: BulkReplayCounts;
      /** Targets that are given no more until something of theirs has ended. */
      readonly full: readonly string[];
      /** Paused ones, and targets whose breaker is not closed: `subscription/<id>` or `target/<id>`. */
      readonly held: readonly string[];
      /** When the next one is due; null: something else has to happen first. */
      readonly dueInMs: number | null;
    }
  | {
      readonly kind: 'paused';
      readonly counts: BulkReplayCounts;
      readonly by: string;
      readonly why: string | null;
    }
  | {
      readonly kind: 'over';
      readonly state: 'finished' | 'cancelled';
      readonly counts: BulkReplayCounts;
    }
  | { readonly kind: 'unknown_job' };

export interface BulkReplayMoveRequest extends BulkReplayRef {
  readonly move: BulkReplayMove;
  readonly by: string;
  readonly reason: string | null;
}

export type BulkReplayMoved =
  /** `already`: it was so before; two clicks are one move. */
  | { readonly kind: 'moved' | 'already' | 'refused'; readonly state: BulkReplayState }
  | { readonly kind: 'unknown_job' };

export interface BulkReplayActivities {
  /** Works on the job for a bounded time, as far as its row lets it. */
  readonly stepBulkReplay: (ref: BulkReplayRef) => Promise<BulkReplayStep>;
  /** Decides a move on the row. */
  readonly moveBulkReplay: (request: BulkReplayMoveRequest) => Promise<BulkReplayMoved>;
}

/** Input of the workflow `replay`. */
export interface BulkReplayInput extends BulkReplayRef {
  /** How long the page of a job that waits for a person stays open. */
  readonly waitMs: number;
  /** A worker that is silent for longer than this is taken for lost. */
  readonly heartbeatMs: number;
}

export type CheckedMove =
  | { readonly ok: true; readonly by: string; readonly reason: string | null }
  | { readonly ok: false; readonly problem: string };

/** Reads the input of a signal to a job: whatever somebody typed in the Temporal UI. */
export function checkMoveSignal(input: unknown): CheckedMove {
  const given = fieldsOf(input);
  if (given === null) {
    return { ok: false, problem: 'the input is not an object such as {"by": "…", "reason": "…"}' };
  }
  const { by = 'temporal-ui', reason = null } = given;
  const problem =
    textProblem('by', by, MAX_PERSON) ??
    (reason === null ? null : textProblem('reason', reason, MAX_REASON));
  if (problem !== null) return { ok: false, problem };
  return { ok: true, by: String(by), reason: typeof reason === 'string' ? reason : null };
}
