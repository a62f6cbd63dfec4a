/**
 * After a restore of the database from a backup: what is asked of Temporal, which was not restored, and
 * what becomes of actions that the rows know too little of, or nothing.
 */
import type { ActionRef } from './action-service';
import type { ActionState } from './action-states';

/** One run of an action's workflow, as Temporal lists it. */
export interface ActionRun extends ActionRef {
  readonly runId: string;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** What the history of a run tells of its action. */
export interface ActionRunFacts {
  readonly capabilityId: string;
  readonly requestDigest: string;
  readonly affinityKey: string | null;
  /** The highest fence with which its request was handed to a worker for sending; 0: it never was. */
  readonly sentFence: number;
  /** The state that it ended with; null: it runs, or was ended by somebody. */
  readonly state: ActionState | 'unknown' | null;
  /** ISO 8601; null while it runs. */
  readonly closedAt: string | null;
}

/** What Temporal remembers of actions, for as long as its namespace retains it. */
export interface ActionArchive {
  /** All runs, in pages. */
  pages(): AsyncIterable<readonly ActionRun[]>;
  /** All runs of one action. */
  runsOf(ref: ActionRef): Promise<readonly ActionRun[]>;
  /** Null: the history is not there, or does not begin with an action's input. */
  facts(run: ActionRun): Promise<ActionRunFacts | null>;
}

/** doubted: its host is asked first; untouched: not sent since; handed: for a person; over: closed. */
export type Doubted = 'doubted' | 'untouched' | 'handed' | 'over';

/** buried: it has ended, its id is known again; handed: for a person; known: nothing was lost. */
export type Adopted = 'buried' | 'handed' | 'known';

export interface RecoveryStatus {
  /** ISO 8601; null: the deployment is not recovering. */
  readonly since: string | null;
  /** Open actions by state. */
  readonly states: Readonly<Partial<Record<ActionState, number>>>;
  /** The first 200 whose route or row was lost. */
  readonly forPeople: readonly (ActionRef & {
    readonly reason: string;
    readonly detail: string | null;
  })[];
}
