/**
 * The five ports of the registry, and the ledger of actions that they route for. Two implementations: Postgres (`src/db`) and the deterministic one
 * in memory (`src/memory`), under one conformance suite.
 */
import type { ActionState } from './action-states';
import type { ActionRef } from './action-service';
import type { PolicyDecision } from './approvals';
import type { RecoveryKind, SideEffect } from './capabilities';
import type { ResolutionAnswer, ResolutionWish } from './capability-resolution';
import type { TenantId } from './ids';
import type { BeginRepin, ConcludeRepin, RepinWish } from './repin';
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
  readonly sideEffect: SideEffect;
  readonly recovery: RecoveryKind;
  readonly requestSchema: unknown;
  readonly resultSchema: unknown;
  /** SHA-256 (hex) of the canonical JSON of all of the above. */
  readonly contractDigest: string;
}

/** Resolves capability definitions for a tenant. */
export interface CapabilityCatalog {
  /** The contract, if the tenant can see it; null otherwise, never a reason why. */
  find(tenantId: TenantId, capabilityId: string): Promise<BoundContract | null>;
  /**
   * One page of definitions by capability id, all at one revision. It may hold fewer than `limit`, even
   * none, and go on: it looks at a bounded number of ids, and its size is bounded, too.
   */
  page(request: CapabilityPageRequest): Promise<CapabilityPageAnswer>;
  /** The contracts among these ids that the tenant can see, and the revision at which it sees them. */
  contracts(
    tenantId: TenantId,
    capabilityIds: readonly string[],
  ): Promise<{ readonly revision: number; readonly contracts: readonly PlannedContract[] }>;
  revision(): Promise<number>;
  /**
   * The instance to which a new action of this capability, or of any of this interface, would go first,
   * whatever room its hosts have (docs/architecture, "Reading the catalog").
   */
  resolve(tenantId: TenantId, wish: ResolutionWish): Promise<ResolutionAnswer>;
}

/** A contract as it holds for one tenant. */
export interface BoundContract extends CapabilityContract {
  /** Its class, or a binding of the tenant, says so. */
  readonly approvalNeeded: boolean;
}

/** What a plan asks of a contract. */
export type PlannedContract = Omit<BoundContract, 'resultSchema'>;

export interface CapabilityDefinition extends CapabilityContract {
  /** Whether a binding of the tenant serves it; false only where unbound ones were asked for. */
  readonly bound: boolean;
  /** Of the versions that serve or offer it, sorted. */
  readonly profiles: readonly string[];
}

/** Null: any. */
export interface CapabilityFilters {
  /** Text within id or interface, in any case. */
  readonly search: string | null;
  readonly capabilityId: string | null;
  readonly interfaceName: string | null;
  readonly profile: string | null;
}

export interface CapabilityPageRequest extends CapabilityFilters {
  /** Null: nobody's, who has nothing bound. */
  readonly tenantId: TenantId | null;
  /** Also what active versions offer and the tenant has not bound; the caller checked that it may. */
  readonly unbound: boolean;
  /** Where the page before ended, and at which revision; null: the first page. */
  readonly after: { readonly revision: number; readonly capabilityId: string } | null;
  readonly limit: number;
}

export type CapabilityPageAnswer =
  | {
      readonly kind: 'page';
      readonly revision: number;
      readonly capabilities: readonly CapabilityDefinition[];
      /** The id behind which the next page goes on; null: this is the last one. */
      readonly next: string | null;
    }
  /** The catalog has moved since the page before: begin again. */
  | { readonly kind: 'stale_cursor'; readonly revision: number };

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
  /** The only revision of the catalog at which a new action may start; absent: any. */
  readonly ifCatalogRevision?: number | null;
  /** Recorded as given; absent: none was. */
  readonly policyDecision?: PolicyDecision | null;
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

export type StartAnswer =
  /** `conflict`: the id belongs to another capability or request. */
  | { readonly kind: 'started' | 'existing' | 'conflict'; readonly action: ActionFacts }
  /** Nothing was started: the catalog is at another revision than asked for. */
  | { readonly kind: 'stale_plan'; readonly revision: number };

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

/** Moves pinned actions, in two halves: their old host is sealed in between. */
export interface RouteOperator {
  /** Opens a fencing call to the old host; its fence goes above `aboveFence`, too. */
  beginRepin(action: ActionRef, aboveFence: number | null): Promise<BeginRepin>;
  /** Takes the route back, if nothing else was done with the action since that fence. */
  concludeRepin(
    at: ActionRef & { readonly fence: number },
    wish: RepinWish,
    proof: Readonly<Record<string, unknown>>,
  ): Promise<ConcludeRepin>;
}

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

export const REPLICA_STATUSES = ['registered', 'ready', 'draining', 'drained', 'offline'] as const;
export type ReplicaStatus = (typeof REPLICA_STATUSES)[number];

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
