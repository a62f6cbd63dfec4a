/**
 * The contract between the delivery workflow and its activities: all that a history records.
 * References, states, durations and reasons only; payloads and secrets never pass here.
 */
import type { ActionState } from './action-states';
import type { FailureReason } from './attempts';
import type { DeliveryState } from './delivery-states';
import type { DeliveryId, TenantId } from './ids';

export interface DeliveryRef {
  readonly tenantId: TenantId;
  readonly deliveryId: DeliveryId;
}

/** What people see of a delivery's workflow before they open it. */
export interface DeliveryAbout {
  readonly connectorId: string;
  readonly eventType: string;
  readonly subscriptionId: string | null;
}

export interface AttemptRequest extends DeliveryRef {
  /**
   * True when the workflow knows that its previous attempt's activity is lost: an attempt that is
   * still open is then closed as unknown at once, instead of at its deadline.
   */
  readonly takeOver: boolean;
}

export type AttemptAnswer =
  /** The target took it; the delivery is Acknowledged. */
  | {
      readonly kind: 'acknowledged';
      readonly attempt: number;
      /** The action whose end this is, where the target is one. */
      readonly actionId?: string;
    }
  /** This attempt did not succeed; the next one is due in `dueInMs` (database clock). */
  | {
      readonly kind: 'retry';
      readonly attempt: number;
      readonly reason: FailureReason;
      readonly detail: string;
      readonly dueInMs: number;
    }
  /** The delivery is now Failed: the series is used up or cannot succeed. */
  | {
      readonly kind: 'failed';
      readonly attempts: number;
      readonly reason: FailureReason;
      readonly detail: string;
      /** The action whose end this is, where the target is one. */
      readonly actionId?: string;
    }
  /** The attempt stays open: its action is, and tells of its end; until then look again by itself. */
  | {
      readonly kind: 'following';
      readonly attempt: number;
      readonly actionId: string;
      readonly state: ActionState;
      /** What the action says of itself, in a few words. */
      readonly why: string;
      readonly againInMs: number;
    }
  /** Nothing was tried: the next attempt is due later. */
  | {
      readonly kind: 'not_due';
      readonly dueInMs: number;
      /** The attempt before, where one did not succeed: another run made it, or the express lane. */
      readonly last?: {
        readonly attempt: number;
        readonly reason: FailureReason;
        readonly detail: string;
      };
    }
  /** Nothing was tried: another attempt is open until its deadline. */
  | { readonly kind: 'in_flight'; readonly attempt: number; readonly endsInMs: number }
  /** Nothing was tried: somebody must first release it. */
  | {
      readonly kind: 'held';
      readonly state: DeliveryState;
      /**
       * `paused` by an operator, `target_gone`, `instance_disabled` or `connector_disabled`; of its
       * target `target_paused`, `breaker_open`, `target_busy`, `tenant_busy`, or `draining`: its turn comes.
       */
      readonly why: string;
      /** When it looks again if nobody nudges it; left out: at the poll of the workflow. */
      readonly againInMs?: number;
    }
  /** Nothing was tried: the row is in a state that wants no attempt. */
  | {
      readonly kind: 'settled';
      readonly state: DeliveryState;
      readonly attempts: number;
      /** Empty, both of them, where nothing is wrong. */
      readonly reason: string;
      readonly detail: string;
    }
  /** Somebody else closed this attempt in the meantime; look again. */
  | { readonly kind: 'superseded'; readonly attempt: number }
  /** There is no such delivery (any more). */
  | { readonly kind: 'unknown_delivery' };

export interface ReplayRequest extends DeliveryRef {
  readonly replayedBy: string;
  readonly reason: string;
}

export type ReplayAnswer =
  /** Failed → Replayed, just now. */
  | { readonly kind: 'replayed'; readonly series: number }
  /** A replay of this delivery is already under way. */
  | { readonly kind: 'already_replaying'; readonly state: DeliveryState; readonly series: number }
  | { readonly kind: 'not_failed'; readonly state: DeliveryState }
  /** An outbound one that may have had its effect: somebody has to confirm that they know. */
  | { readonly kind: 'uncertain' }
  /**
   * Such a one of the class `external`, or one whose approval has expired, without an approval of its own
   * that counts.
   */
  | {
      readonly kind: 'approval_required';
      readonly code: 'approval_required' | 'approval_refused' | 'approver_is_requester';
      readonly detail: string;
    }
  | { readonly kind: 'unknown_delivery' };

export interface DeliveryActivities {
  /** Makes one fenced attempt, or says why none was made. */
  readonly attemptDelivery: (request: AttemptRequest) => Promise<AttemptAnswer>;
  /** Decides a replay on the row. */
  readonly replayDelivery: (request: ReplayRequest) => Promise<ReplayAnswer>;
}

/** Input of the delivery workflow; the state travels along when a run continues as new. */
export interface DeliveryWorkflowInput extends DeliveryRef {
  /** How long a failed delivery waits for a replay before its workflow closes. */
  readonly failedWaitMs: number;
  /** How often a held delivery looks again by itself. */
  readonly heldPollMs: number;
  /** An attempt whose worker is silent for longer than this is taken over. */
  readonly heartbeatMs: number;
}

/** Signal `replay`, as an operator sends it from the Temporal UI: see `checkReplaySignal`. */
export const REPLAY_SIGNAL = 'replay';
/** Signal `nudge`: the row has changed; look again. */
export const NUDGE_SIGNAL = 'nudge';
