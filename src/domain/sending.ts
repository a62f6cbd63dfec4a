/**
 * Sending: what a caller orders by `Deliver`, and what it is answered (docs/architecture, "Sending").
 * The same for every transport that the call comes by.
 */
import type { SideEffect } from './capabilities';
import type { DeliveryState } from './delivery-states';
import type { ErrorCode } from './errors';
import type { DeliveryId, TenantId } from './ids';

/** Who calls, as the token says. */
export interface DeliverPrincipal {
  readonly tenantId: TenantId;
  readonly subject: string;
  /**
   * Whether the token allows an operation, which counts as the capability of its name, or of its action;
   * left out: it has no limits.
   */
  readonly permits?: (used: {
    readonly capabilityId: string;
    readonly sideEffect: SideEffect;
  }) => boolean;
}

/** What a policy has said of the call; recorded, and not looked into but for its outcome. */
export interface PolicyDecision {
  /** By which whoever decided finds it again. */
  readonly id: string;
  readonly outcome: 'allow' | 'deny';
  /** Which policy, and at which revision; null: not said. */
  readonly policy: string | null;
}

/** An approval that was found to count, as it is recorded. */
export interface CarriedApproval {
  /** The token's own id, for the record. */
  readonly approvalId: string;
  /** By name: whoever asked for the thing may not be it, which the caller checks. */
  readonly approver: string;
  /** The did:key that has signed it: it counts while the deployment trusts that. */
  readonly key: string;
  /** ISO 8601, UTC. */
  readonly expiresAt: string;
}

export interface DeliverOrder {
  readonly connectorId: string;
  /** The specification's `connectionId`. */
  readonly instanceId: string;
  /** An operation of the connector version's `outbound`. */
  readonly operation: string;
  /** Of this tenant and instance; lives as long as the delivery. */
  readonly idempotencyKey: string;
  readonly payload: Uint8Array;
  readonly contentType: string;
  /** The smaller of this and the connector's profile holds; null: the profile alone. */
  readonly budget: { readonly attempts: number | null; readonly deadlineMs: number | null };
  /** How long to wait for the receipt, at most `MAX_DELIVER_WAIT_MS`. */
  readonly waitMs: number;
  readonly policyDecision: PolicyDecision | null;
  /** An approval token; null: none. */
  readonly approval: string | null;
}

export const MAX_DELIVER_WAIT_MS = 10_000;
export const MAX_DELIVER_PAYLOAD_BYTES = 1_048_576;

/** What became of a delivery that was sent, as its caller needs to know it. */
export interface SentDelivery {
  readonly deliveryId: DeliveryId;
  readonly connectorId: string;
  readonly instanceId: string;
  readonly operation: string;
  readonly sideEffect: SideEffect;
  readonly idempotencyKey: string;
  /** Lower-case hex SHA-256 of the request: what an approval is bound to. */
  readonly requestDigest: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** Why it failed or waits; null: nothing is wrong. */
  readonly reason: string | null;
  readonly detail: string | null;
  /** It may have had its effect, and nobody knows. */
  readonly uncertain: boolean;
  /** ISO 8601. */
  readonly acceptedAt: string;
  readonly settledAt: string | null;
  readonly nextAttemptAt: string | null;
  /** The newest receipt; null until it is settled. */
  readonly receipt: { readonly ref: string; readonly jws: string } | null;
  /** Of the newest attempt's answer; null: there was none, or the vendor does not speak HTTP. */
  readonly status: number | null;
  readonly answerSha256: string | null;
  /** The answer's first bytes, as text for people, without secrets. */
  readonly answerHead: string | null;
}

/** Codes by which `Deliver` refuses; nothing was stored, and nothing is sent. */
export const DELIVER_REFUSALS = [
  'connection_unavailable',
  'operation_unknown',
  'capability_not_permitted',
  'delivery_conflict',
  'delivery_request_invalid',
  'policy_decision_required',
  'approval_required',
  'approval_refused',
  'approver_is_requester',
] as const satisfies readonly ErrorCode[];
export type DeliverRefusal = (typeof DELIVER_REFUSALS)[number];

export type DeliverAnswer =
  /** It is Acknowledged or Failed, and has a receipt. */
  | { readonly kind: 'settled'; readonly delivery: SentDelivery }
  /** It goes on by itself; the same call again meets it. */
  | { readonly kind: 'under_way'; readonly delivery: SentDelivery }
  | {
      readonly kind: 'refused';
      readonly code: DeliverRefusal;
      readonly detail: string;
      readonly field?: string;
      /** What an approval must name, where it needs another one or the first. */
      readonly requestDigest?: string;
    };

/**
 * Stores the delivery, or meets the one of this key, and waits for its receipt for a bounded time.
 * Throws `storage_unavailable` alone.
 * @param signal ends the waiting early; the delivery goes on
 */
export type Deliver = (
  order: DeliverOrder,
  principal: DeliverPrincipal,
  signal: AbortSignal,
) => Promise<DeliverAnswer>;
