/**
 * Routes: the immutable assignment of one action to one host, the reservations (attempts) made on it,
 * and everything that the registry can answer about them (docs/architecture, "Routes").
 */
import type { ActionState } from './action-states';
import type { TenantId } from './ids';

export interface Topology {
  readonly region: string;
  readonly zone: string;
  readonly capacityClass: string;
}

/** How its host is reached; in the clear on this machine alone. */
export const TRANSPORTS = ['https', 'http-loopback'] as const;

/** Where an action goes, decided once; a retry, a cancel and a reconciliation read the same one. */
export interface RouteAssignment {
  readonly tenantId: TenantId;
  readonly actionId: string;
  readonly capabilityId: string;
  readonly connectorId: string;
  readonly instanceId: string;
  readonly version: string;
  /** Lower-case hex SHA-256. */
  readonly manifestDigest: string;
  readonly replicaId: string;
  readonly endpoint: string;
  readonly peerPrincipalId: string;
  readonly peerPrincipalKind: string;
  /** `did:key` of the host's Ed25519 key. */
  readonly peerDid: string;
  readonly trustDomain: string;
  readonly transportProfile: (typeof TRANSPORTS)[number];
  readonly topology: Topology;
  readonly catalogRevision: number;
  readonly bindingPolicyRevision: number;
  readonly credentialRevision: string;
  readonly quotaPolicyId: string | null;
  /** ISO 8601, database clock. */
  readonly assignedAt: string;
}

/** One fenced reservation of a route. */
export interface Reservation {
  readonly attemptNo: number;
  /** Grows with every reservation of the action, also across a restore of the database. */
  readonly fence: number;
  /** Until when it holds, from now, on the database's clock. */
  readonly deadlineInMs: number;
  /** The replica's incarnation and health when it was made. */
  readonly incarnation: number;
  readonly healthRevision: number;
  /** True: the circuit is half open and this attempt is one of its few probes. */
  readonly probe: boolean;
}

/** How an attempt ends: it frees capacity and moves the circuit; the result is recorded apart. */
export const SETTLEMENTS = [
  /** A final answer, good or bad. */
  'completed',
  /** It may have had its effect; nobody heard. */
  'outcome_unknown',
  'cancelled',
  /** By the sweep: deadline, replica lease, replica offline. */
  'lease_expired',
  /** Proof that nothing began. */
  'not_started',
] as const;
export type Settlement = (typeof SETTLEMENTS)[number];

/** Whether an unknown outcome is the host's doing; only then it counts for its circuit. */
export type UnknownCause = 'host' | 'ours';

export interface ReserveRequest {
  readonly tenantId: TenantId;
  readonly actionId: string;
  readonly capabilityId: string;
  /** Lower-case hex SHA-256 of the request; the same action with another one is a conflict. */
  readonly requestDigest: string;
  /** The workflow id: a repeated call of one owner and number is answered, not repeated. */
  readonly owner: string;
  /** The owner's own ordinal: 1, 2, … */
  readonly attemptNo: number;
  /** Keeps a conversation on one account. */
  readonly affinityKey: string | null;
  /** How long the reservation holds unless it is extended. */
  readonly holdMs: number;
  /** The highest fence that a host has reported for the action; the new one goes above it. */
  readonly aboveFence: number | null;
}

/** Where the deployment prefers new routes; never part of a request. */
export interface TopologyPreference {
  readonly region: string | null;
  readonly zone: string | null;
  readonly crossRegion: boolean;
  /** A filter, not a preference; null: any class. */
  readonly capacityClass: string | null;
}

export type QuotaScope =
  'binding' | 'instance' | 'connector' | 'tenant_retry' | 'tenant' | 'global';

export type ReserveAnswer =
  | {
      readonly kind: 'reserved';
      readonly route: RouteAssignment;
      readonly reservation: Reservation;
    }
  /** That attempt is over. */
  | { readonly kind: 'settled'; readonly settlement: Settlement; readonly attemptNo: number }
  /** The action has its result: nothing is to be reserved any more. */
  | { readonly kind: 'finished'; readonly result: ActionResult }
  | { readonly kind: 'in_progress'; readonly endsInMs: number }
  | { readonly kind: 'superseded'; readonly attemptNo: number }
  | { readonly kind: 'conflict'; readonly detail: string }
  /** Never started, or lost in a restore: for a person, never for a new route. */
  | { readonly kind: 'unknown_action' }
  /** No attempt is open, but the action is not waiting for one: what became of the last is unclear. */
  | { readonly kind: 'not_requested'; readonly state: ActionState }
  /** Its capability, or a binding of it, wants an approval, and it has none. */
  | { readonly kind: 'approval_required' }
  | { readonly kind: 'binding_unavailable'; readonly why: BindingFault }
  | { readonly kind: 'replica_unavailable'; readonly why: ReplicaFault; readonly retryInMs: number }
  | { readonly kind: 'capacity_exceeded'; readonly scope: QuotaScope; readonly retryInMs: number }
  | { readonly kind: 'rate_limited'; readonly instanceId: string; readonly retryInMs: number }
  | { readonly kind: 'contended'; readonly retryInMs: number }
  /** The deployment recovers from a restore: nothing is reserved until it is released. */
  | { readonly kind: 'recovering'; readonly retryInMs: number };

export const BINDING_FAULTS = [
  'no_binding',
  'binding_disabled',
  'instance_disabled',
  'connector_disabled',
  'version_not_active',
  /** Evidence that the deployment requires of the version is missing or has expired. */
  'evidence_expired',
  'capability_not_offered',
  'credential_revoked',
  'affinity_unavailable',
] as const;
export type BindingFault = (typeof BINDING_FAULTS)[number];

export type ReplicaFault =
  | 'none_registered'
  | 'none_ready'
  | 'at_capacity'
  | 'circuit_open'
  | 'wrong_topology'
  /** The route is pinned to a replica that cannot serve now: it is never replaced. */
  | 'pinned_unavailable';

export interface SettleRequest {
  readonly tenantId: TenantId;
  readonly actionId: string;
  readonly fence: number;
  readonly settlement: Settlement;
  /** For `outcome_unknown` alone. */
  readonly unknownCause: UnknownCause | null;
  /** What is known, for people: no payload, no secret. */
  readonly evidence: Readonly<Record<string, unknown>>;
  /** The provider has asked for so long a pause: nothing is reserved on the instance before. */
  readonly retryAfterMs?: number | null;
}

/** The longest pause that is believed. */
export const MAX_RETRY_AFTER_MS = 86_400_000;

export type SettleAnswer =
  | { readonly kind: 'settled' }
  /** Settled before with this very outcome. */
  | { readonly kind: 'already_settled' }
  /** A newer attempt exists, or this one ended otherwise: nothing changed, the evidence is kept. */
  | { readonly kind: 'fence_lost'; readonly settlement: Settlement | null }
  /** After a restore: for a person, never for a new route. */
  | { readonly kind: 'unknown_route' };

/** What became of an action; written once. */
export interface ActionResult {
  readonly outcome: 'succeeded' | 'failed' | 'cancelled';
  /** SHA-256 of the result artifact (lower-case hex); null where there is no body. */
  readonly resultSha256: string | null;
  /** A stable word for a failure; null on success. */
  readonly errorCode: string | null;
}

export type RecordResultAnswer =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'already_recorded' }
  /** Another result is there: it stays, and this one is kept as evidence. */
  | { readonly kind: 'conflict'; readonly result: ActionResult }
  | { readonly kind: 'unknown_route' };

export type ExtendAnswer =
  | { readonly kind: 'extended'; readonly deadlineInMs: number }
  | { readonly kind: 'fence_lost' }
  | { readonly kind: 'unknown_route' };
