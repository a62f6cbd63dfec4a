/** Starting, awaiting and cancelling actions, as the API and every other way in ask for it. */
import type { ApprovalAnswer, ApprovalDecision, PolicyDecision } from './approvals';
import type { TenantId } from './ids';
import type { Resolution, ResolveAnswer } from './resolutions';

export interface ActionRef {
  readonly tenantId: TenantId;
  readonly actionId: string;
}

export interface ActionOrder extends ActionRef {
  readonly capabilityId: string;
  /** Any JSON value; its canonical form is what the action is known by. */
  readonly request: unknown;
  readonly affinityKey: string | null;
  readonly deadlineMs: number;
  readonly retryBudget: number;
  readonly requestedBy: string;
  /** Start it only while the catalog is at this revision, at which its plan was verified; absent: any. */
  readonly ifCatalogRevision?: number | null;
  /** A signed approval; absent: one is asked for where it is needed. */
  readonly approval?: string | null;
  /** False: refuse it where it needs one and carries none; absent: true. */
  readonly awaitApproval?: boolean;
  /** What the caller's policy has said, recorded as given; absent: nothing. */
  readonly policyDecision?: PolicyDecision | null;
}

/**
 * `cancelled`: nothing had begun, it is over; `requested`: its host is asked to stop; `needs_operator`:
 * a person decides about it, and sees the wish; `too_late`: it is closed otherwise; `already`: it was
 * cancelled, or is being cancelled, before.
 */
export const CANCEL_DECISIONS = [
  'cancelled',
  'requested',
  'needs_operator',
  'too_late',
  'already',
] as const;

export interface ActionService {
  /**
   * Starts the action, or meets the one of that id. `conflict`: the id belongs to another capability or
   * another request; nothing was changed.
   * @throws WaybillError `capability_unavailable`, `action_request_invalid` (with the field), `stale_plan`,
   *   `approval_required`, `approval_refused`, `approver_is_requester`, `storage_unavailable`
   */
  start(order: ActionOrder): Promise<{
    readonly kind: 'started' | 'existing' | 'conflict';
    readonly detail?: string;
  }>;
  /** Waits until the action is closed, at most so long; answers whether it is. */
  closed(ref: ActionRef, waitMs: number, signal: AbortSignal): Promise<boolean>;
  cancel(
    ref: ActionRef,
    who: { readonly cancelledBy: string; readonly reason: string },
  ): Promise<{
    readonly kind: (typeof CANCEL_DECISIONS)[number] | 'unknown_action';
  }>;
  /** Approves or denies it; the first decision counts. */
  decide(
    ref: ActionRef,
    wish: Pick<ApprovalDecision, 'decision' | 'by' | 'reason'>,
  ): Promise<ApprovalAnswer>;
  /** What a person says became of an action that needs one. */
  resolve(ref: ActionRef, resolution: Resolution): Promise<ResolveAnswer>;
}
