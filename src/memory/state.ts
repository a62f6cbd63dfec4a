/**
 * What the registry in memory knows: the same rows as the tables of Postgres, as plain objects. All
 * times are milliseconds of the clock that it was given.
 */
import type { ActionState } from '../domain/action-states';
import type { TenantId } from '../domain/ids';
import type { CapabilityContract, LifecycleAnswer, ReplicaStatus } from '../domain/registry-ports';
import type {
  ActionResult,
  QuotaScope,
  Reservation,
  RouteAssignment,
  Settlement,
  Topology,
  UnknownCause,
} from '../domain/routes';

export interface FleetSettings {
  /** Unknown outcomes in a row, caused by the host, that open its circuit; 0: never. */
  readonly circuitUnknowns: number;
  readonly circuitOpenMs: number;
  readonly circuitProbes: number;
  readonly replicaLeaseMs: number;
  readonly replicaHysteresis: number;
}

export interface ConnectorEntry {
  readonly connectorId: string;
  readonly provider: string;
  enabled: boolean;
}

export interface RateLimit {
  readonly permits: number;
  readonly perMs: number;
  readonly burst: number;
}

export interface VersionEntry {
  readonly connectorId: string;
  readonly version: string;
  readonly manifestDigest: string;
  capabilities: readonly string[];
  profiles: readonly string[];
  status: 'draft' | 'certified' | 'active' | 'deprecated' | 'revoked';
  rateLimit: RateLimit | null;
  /** Until when it has the evidence that is required of it; infinite: for ever, or never. */
  evidenceUntil: number;
}

export interface InstanceEntry {
  readonly tenantId: TenantId;
  readonly instanceId: string;
  readonly connectorId: string;
  version: string;
  status: 'enabled' | 'disabled' | 'revoked';
}

export interface BindingEntry {
  readonly tenantId: TenantId;
  readonly capabilityId: string;
  readonly instanceId: string;
  priority: number;
  enabled: boolean;
  spill: 'never' | 'capacity';
  spread: boolean;
  approvalRequired: boolean;
  policyRevision: number;
  credentialRevision: string;
  quotaPolicyId: string | null;
}

export interface CredentialEntry {
  readonly tenantId: TenantId;
  readonly instanceId: string;
  readonly credentialRevision: string;
  status: 'active' | 'revoked';
}

/** A scope that is left out is off. */
export type QuotaLimits = Readonly<Partial<Record<QuotaScope, number>>>;

export interface ReplicaEntry {
  readonly replicaId: string;
  readonly tenantId: TenantId;
  readonly instanceId: string;
  readonly version: string;
  readonly endpoint: string;
  readonly peerDid: string;
  readonly topology: Topology;
  capacity: number;
  status: ReplicaStatus;
  leaseEndsAt: number;
  sequence: number;
  incarnation: number;
  healthRevision: number;
  storeEpoch: string | null;
  contrary: number;
  activeAssignments: number;
  unknownFailures: number;
  circuitOpenUntil: number | null;
  probes: number;
  readonly answers: Map<string, { readonly operation: string; readonly answer: LifecycleAnswer }>;
}

export interface HeldCounter {
  readonly scope: QuotaScope;
  readonly key: string;
}

export interface AttemptEntry extends Omit<Reservation, 'deadlineInMs'> {
  readonly owner: string;
  readonly replicaId: string;
  readonly counters: readonly HeldCounter[];
  deadlineAt: number;
  settlement: Settlement | null;
  cause: UnknownCause | OverdueCause | null;
  evidence: Readonly<Record<string, unknown>>;
  readonly lateEvidence: unknown[];
}

export type OverdueCause = 'deadline' | 'replica_lease' | 'offline' | 'incarnation';

export interface ActionEntry {
  readonly tenantId: TenantId;
  readonly actionId: string;
  readonly capabilityId: string;
  readonly requestDigest: string;
  readonly affinityKey: string | null;
  readonly retryBudget: number;
  readonly deadlineAt: number;
  state: ActionState;
  version: number;
  reason: string | null;
  /** The approval under which it may be sent. */
  approvalId: string | null;
  result: ActionResult | null;
  route: RouteAssignment | null;
  /** Since when nothing is reserved on that route any more: the next reservation chooses anew. */
  routeRetiredAt: number | null;
  /** Routes that operators took back, with the highest fence given out on each. */
  readonly retiredRoutes: { readonly route: RouteAssignment; readonly fence: number }[];
  /** The highest fence given out. */
  fence: number;
  readonly attempts: AttemptEntry[];
}

export interface CounterEntry {
  held: number;
  releasedAt: number | null;
  /** Moving average of the time between two releases. */
  drainMs: number | null;
}

export interface RateSchedule {
  readonly dueAt: number;
  /** How far apart they come by the rate that it was reckoned with. */
  readonly eachMs: number;
}

export interface RegistryState {
  readonly nowMs: () => number;
  settings: FleetSettings;
  catalogRevision: number;
  readonly capabilities: Map<string, CapabilityContract>;
  readonly connectors: Map<string, ConnectorEntry>;
  readonly versions: VersionEntry[];
  readonly instances: InstanceEntry[];
  readonly bindings: BindingEntry[];
  readonly credentials: CredentialEntry[];
  readonly quotas: Map<string, QuotaLimits>;
  readonly replicas: Map<string, ReplicaEntry>;
  /** By tenant and action. */
  readonly actions: Map<string, ActionEntry>;
  readonly counters: Map<string, CounterEntry>;
  /** When the next reservation of an instance would be due if they came evenly. */
  readonly rates: Map<string, RateSchedule>;
  /** Until when the provider of an instance wants to be left alone. */
  readonly rateHolds: Map<string, number>;
  readonly affinities: Map<string, string>;
  /** What is left of actions that are over, by tenant and action. */
  readonly tombstones: Map<string, ActionEntry>;
  /** After a restore: nothing is reserved. */
  recovering: boolean;
}

const DEFAULT_SETTINGS: FleetSettings = {
  circuitUnknowns: 5,
  circuitOpenMs: 30_000,
  circuitProbes: 2,
  replicaLeaseMs: 30_000,
  replicaHysteresis: 3,
};

/** An empty registry with the deployment's default settings. */
export function emptyState(nowMs: () => number): RegistryState {
  return {
    ...{ nowMs, settings: DEFAULT_SETTINGS, catalogRevision: 0 },
    ...{ capabilities: new Map(), connectors: new Map(), versions: [], instances: [] },
    ...{ bindings: [], credentials: [], quotas: new Map(), replicas: new Map() },
    ...{
      actions: new Map(),
      counters: new Map(),
      rates: new Map(),
      rateHolds: new Map(),
      affinities: new Map(),
      tombstones: new Map(),
      recovering: false,
    },
  };
}

/** One key of several parts; none of them holds a NUL. */
export const keyOf = (...parts: readonly string[]): string => parts.join('\u0000');
