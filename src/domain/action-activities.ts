/**
 * The contract between the action workflow and its activities: all that a history records.
 * References, digests, states, reasons and durations; beside them the affinity key (of an action
 * target a value of the payload), a host's word on its progress, and the names and reasons that people
 * give. Requests, results and secrets never pass here.
 */
import type { ActionRef, CANCEL_DECISIONS } from './action-service';
import type { ActionState } from './action-states';
import type { ApprovalAnswer } from './approvals';
import type { Progress } from './host-protocol';
import type { DeliveryId } from './ids';
import type { Resolution, ResolveAnswer } from './resolutions';

/** What a workflow needs to know of its action for good. */
export interface ActionIdentity extends ActionRef {
  readonly capabilityId: string;
  /** Lower-case hex SHA-256 of the request. */
  readonly requestDigest: string;
  readonly affinityKey: string | null;
}

export interface NextRequest extends ActionIdentity {
  /** The ordinal of the attempt that the workflow would make next; the row may know better. */
  readonly attemptNo: number;
  /** The highest fence that a host has reported; a new one goes above it. */
  readonly aboveFence: number | null;
  /** Refusals in a row: they grow the delay until the next try. */
  readonly refusals: number;
}

/** What an action wants next, by its row. */
export type NextStep =
  /** A route is reserved: send the request. */
  | {
      readonly kind: 'send';
      readonly attemptNo: number;
      readonly fence: number;
      readonly connectorId: string;
    }
  /** What became of it is not known: ask its host, with a higher fence. */
  | { readonly kind: 'ask' }
  /** An attempt is open whose sender is lost: settle it first. */
  | { readonly kind: 'settle'; readonly fence: number; readonly attemptNo: number }
  /** Nothing can be reserved now. */
  | {
      readonly kind: 'wait';
      readonly state: ActionState;
      readonly reason: string;
      readonly detail: string;
      readonly forMs: number;
    }
  | AwaitingApproval
  | OperatorNeeded
  | Closed
  /** There is no such action (any more). */
  | { readonly kind: 'unknown_action' };

/** A person decides whether it may be done at all; nothing of it has begun, and nothing is held. */
export interface AwaitingApproval {
  readonly kind: 'approval';
  readonly capabilityId: string;
  readonly requestDigest: string;
  readonly requestedBy: string;
  /** ISO 8601, database clock: then it fails. */
  readonly expiresAt: string;
  readonly forMs: number;
}

/** A person decides what became of it. */
export interface OperatorNeeded {
  readonly kind: 'operator';
  readonly reason: string;
  readonly detail: string;
  readonly connectorId: string | null;
  /** Who wants it stopped; null: nobody. */
  readonly cancelRequestedBy: string | null;
}

/** The action has its result. */
export interface Closed {
  readonly kind: 'closed';
  readonly state: ActionState;
  readonly deliveryId: DeliveryId | null;
}

export interface DispatchRequest extends ActionRef {
  readonly fence: number;
  /** The host was at work when it was last heard of: the same request again attaches to that. */
  readonly resume: boolean;
  /** How long the call may go on asking a host that says it is at work, in milliseconds. */
  readonly followMs: number;
}

/** How sending the request ended; unless its host is at work, the attempt is settled by then. */
export type Dispatched =
  | Closed
  /** The host is at work; the attempt stays open. */
  | { readonly kind: 'running'; readonly progress: Progress | null }
  /** Proven that nothing began. */
  | {
      readonly kind: 'not_started';
      readonly reason: string;
      readonly detail: string;
      readonly retryInMs: number;
      readonly highestFence: number | null;
    }
  /** It may have had its effect. */
  | { readonly kind: 'unknown' }
  /** The row knows more than this call does. */
  | { readonly kind: 'look' };

export interface AskRequest extends ActionRef {
  readonly aboveFence: number | null;
  /** The epoch of a memory that knows nothing of the action and is asked to look for its effect. */
  readonly adopt: string | null;
  /** Rounds so far: they grow the delay until the next one. */
  readonly round: number;
}

/** What a fencing call (reconcile or cancel) found out. */
export type Asked =
  | Closed
  /** Look at the row: it goes on from there. */
  | { readonly kind: 'look' }
  /** Nothing yet. */
  | {
      readonly kind: 'again';
      readonly state: ActionState;
      readonly reason: string;
      readonly detail: string;
      readonly inMs: number;
      readonly highestFence: number | null;
      readonly adopt: string | null;
    };

export interface SettleStep extends ActionRef {
  readonly fence: number;
  /**
   * `never_taken`: no worker took the dispatch on. `worker_lost`: nobody heard of it any more.
   * `not_settled`: its sender could not write what came of it.
   */
  readonly reason: 'never_taken' | 'worker_lost' | 'not_settled';
}

export interface CancelRequest extends ActionRef {
  readonly cancelledBy: string;
  readonly reason: string;
}

export type CancelDecision =
  | {
      readonly kind: (typeof CANCEL_DECISIONS)[number];
      readonly state: ActionState;
    }
  | { readonly kind: 'unknown_action' };

export interface ActionActivities {
  /** Local: reserves the route, or says what else the action wants. */
  readonly nextStep: (request: NextRequest) => Promise<NextStep>;
  /** Sends the request once, waits for its outcome, and settles the attempt. */
  readonly dispatchAction: (request: DispatchRequest) => Promise<Dispatched>;
  /** Local: settles an attempt whose sender is lost. */
  readonly settleAttempt: (step: SettleStep) => Promise<void>;
  /** Fences the action off at its host and asks, or tells it to stop. */
  readonly askHost: (request: AskRequest) => Promise<Asked>;
  /** Local: decides a cancel on the row. */
  readonly cancelAction: (request: CancelRequest) => Promise<CancelDecision>;
  /** Local: writes what a person has decided. */
  readonly resolveAction: (request: ActionRef & Resolution) => Promise<ResolveAnswer>;
  /** Local: approves by a signed approval. */
  readonly approveAction: (
    request: ActionRef & { readonly token: string },
  ) => Promise<ApprovalAnswer>;
  /** Local: writes that somebody has denied it. */
  readonly denyAction: (
    request: ActionRef & { readonly by: string; readonly reason: string },
  ) => Promise<ApprovalAnswer>;
}

/** Input of the action workflow. */
export interface ActionWorkflowInput extends ActionIdentity {
  /** A worker that is silent for longer is taken for lost. */
  readonly heartbeatMs: number;
  /** How long a dispatch may wait for a worker. */
  readonly pickUpMs: number;
  /** How often an action that needs an operator looks at its row by itself. */
  readonly heldPollMs: number;
}

/** Signal `cancel`, as a person sends it from the Temporal UI: `{"by": …, "reason": …}`. */
export const CANCEL_SIGNAL = 'cancel';
/** Update `resolve` of an action that needs an operator: see `resolutionProblem`. */
export const RESOLVE_UPDATE = 'resolve';
/** Update `approve` of an action that waits for an approval: `{"token": …}`, signed. */
export const APPROVE_UPDATE = 'approve';
/** Update `deny` of one: `{"by": …, "reason": …}`. */
export const DENY_UPDATE = 'deny';
