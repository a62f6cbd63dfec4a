/**
 * The five ports of the registry, and the ledger of actions that they route for. Two implementations: Postgres (`src/db`) and the deterministic one
 * in memory (`src/memory`), under one conformance suite.
 */
import type { ActionState } from './action-states';
import type { TenantId } from './ids';
import type {
  ActionResult,
  ExtendAnswer,
  RecordResultAnswer,
  ReserveAnswer,
  ReserveRequest,
  RouteAssignment,
  SettleAnswer,
  SettleRequest,
} from './routes';

/** What a capability promises; one contract per id for ever. */
export interface CapabilityContract {
  readonly capabilityId: string;
  readonly interfaceName: string;
  readonly sideEffect: 'read' | 'sandbox' | 'shared-write' | 'external';
  /** How an unknown outcome can be cleared up. */
  readonly recovery: 'provider_key' | 'lookup' | 'none';
  readonly requestSchema: unknown;
  readonly resultSchema: unknown;
  /** SHA-256 (hex) of the canonical JSON of all of the above. */
  readonly contractDigest: string;
}

/** Resolves capability definitions for a tenant. */
export interface CapabilityCatalog {
  /** The contract, if the tenant can see it; null otherwise, never a reason why. */
  find(tenantId: TenantId, capabilityId: string): Promise<CapabilityContract | null>;
}

/** Creates, reads and settles durable routes. */
export interface ActionTargetResolver {
  reserveRoute(request: ReserveRequest): Promise<ReserveAnswer>;
  settleRoute(request: SettleRequest): Promise<SettleAnswer>;
  recordResult(
    at: { readonly tenantId: TenantId; readonly actionId: string; readonly fence: number },
    result: ActionResult,
    evidence: Readonly<Record<string, unknown>>,
  ): Promise<RecordResultAnswer>;
  extendReservation(
    at: { readonly tenantId: TenantId; readonly actionId: string; readonly fence: number },
    holdMs: number,
  ): Promise<ExtendAnswer>;
  /** The retained assignment: cancel and reconcile need no capacity, circuit or lease. */
  readRoute(tenantId: TenantId, actionId: string): Promise<RouteAssignment | null>;
  /**
   * A fence above every one given out for the action, for a fencing call (reconcile, cancel) on its
   * retained route.
   */
  nextFence(
    tenantId: TenantId,
    actionId: string,
    aboveFence: number | null,
  ): Promise<number | null>;
}

/** Actions as facts: born once, moved by the state machine, closed with a result. */
export interface ActionLedger {
  startAction(start: ActionStart): Promise<StartAnswer>;
  moveAction(move: ActionMove): Promise<MoveAnswer>;
}

export interface ActionStart {
  readonly tenantId: TenantId;
  readonly actionId: string;
  readonly capabilityId: string;
  /** The request's canonical bytes; their SHA-256 is the request digest. */
  readonly request: Uint8Array;
  readonly affinityKey: string | null;
  readonly requestedBy: string;
  readonly deadlineMs: number;
  readonly retryBudget: number;
  /** How long the caller has to start the workflow itself before a loop does. */
  readonly attendAfterMs: number;
  /** The delivery whose target it is; absent: a dispatcher starts it. */
  readonly deliveryId?: string | null;
}

export interface ActionFacts {
  readonly capabilityId: string;
  readonly state: ActionState;
  /** Grows with every change of state. */
  readonly version: number;
  /** Lower-case hex SHA-256. */
  readonly requestDigest: string;
  readonly result: ActionResult | null;
  readonly reason: string | null;
  readonly deadlineInMs: number;
  readonly retryBudget: number;
  readonly affinityKey: string | null;
}

/** `conflict`: the id belongs to another capability or request. */
export interface StartAnswer {
  readonly kind: 'started' | 'existing' | 'conflict';
  readonly action: ActionFacts;
}

export interface ActionMove {
  readonly tenantId: TenantId;
  readonly actionId: string;
  /** The states in which the caller believes the action may be. */
  readonly from: readonly ActionState[];
  readonly to: ActionState;
  readonly reason: string | null;
  /** True: it now waits for time or a person. */
  readonly waiting: boolean;
  /** For closing: what became of it, unless that is recorded already. */
  readonly result: ActionResult | null;
}

export type MoveAnswer =
  /** `already`: it is in that state; `refused`: nothing changed, it is where `action` says. */
  | { readonly kind: 'moved' | 'already' | 'refused'; readonly action: ActionFacts }
  | { readonly kind: 'unknown_action' };

/** Reads the identities of the fleet. */
export interface RegistryReader {
  replica(replicaId: string): Promise<ReplicaIdentity | null>;
}

export interface ReplicaIdentity {
  readonly replicaId: string;
  readonly tenantId: TenantId;
  readonly instanceId: string;
  readonly version: string;
  readonly endpoint: string;
  readonly peerDid: string;
  readonly status: ReplicaStatus;
  readonly incarnation: number;
  readonly healthRevision: number;
  readonly storeEpoch: string | null;
}

export type ReplicaStatus = 'registered' | 'ready' | 'draining' | 'drained' | 'offline';

/** Changes replica leases; catalog state is published by `apply`. */
export interface RegistryAdministrator {
  register(call: LifecycleCall & { readonly storeEpoch: string }): Promise<LifecycleAnswer>;
  heartbeat(call: LifecycleCall & { readonly healthy: boolean }): Promise<LifecycleAnswer>;
  drain(call: LifecycleCall): Promise<LifecycleAnswer>;
  offline(call: LifecycleCall): Promise<LifecycleAnswer>;
}

/** Signed by the host's key before it gets here; idempotent by request id. */
export interface LifecycleCall {
  readonly replicaId: string;
  readonly requestId: string;
  /** The sequence of the call before this one; 0 for a first registration. */
  readonly previousSequence: number;
}

export type LifecycleAnswer =
  | {
      readonly kind: 'accepted';
      readonly sequence: number;
      readonly incarnation: number;
      readonly status: ReplicaStatus;
      readonly leaseMs: number;
    }
  | { readonly kind: 'unknown_replica' }
  /** Its lease ran out: only a new incarnation brings it back. */
  | { readonly kind: 'must_register'; readonly sequence: number }
  /** Somebody else has spoken for this replica since. */
  | { readonly kind: 'stale_sequence'; readonly sequence: number };

/** Ends what is overdue and reports the fleet in figures of fixed size. */
export interface FleetStatusProvider {
  /** Marks expired replicas offline and settles overdue attempts, at most `limit` of each. */
  sweep(limit: number): Promise<{ readonly offline: number; readonly settled: number }>;
  status(): Promise<FleetStatus>;
}

export interface FleetStatus {
  readonly replicas: Readonly<Record<ReplicaStatus, number>>;
  readonly openAttempts: number;
  readonly circuitsNotClosed: number;
  readonly capacity: number;
  readonly activeAssignments: number;
}
