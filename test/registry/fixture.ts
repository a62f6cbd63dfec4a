/**
 * The small port through which the conformance suite sets a registry up and looks into it, and the
 * words in which its tests speak. Calls themselves go through the product's ports only.
 */
import { createHash } from 'node:crypto';
import { tenantId } from '../../src/domain/ids';
import type { LifecycleAnswer, StartAnswer } from '../../src/domain/registry-ports';
import type {
  QuotaScope,
  ReserveAnswer,
  ReserveRequest,
  Settlement,
  SettleAnswer,
  TopologyPreference,
  UnknownCause,
} from '../../src/domain/routes';
import type { Registry } from '../../src/memory/registry';
import type { FleetSettings, QuotaLimits, RateLimit } from '../../src/memory/state';

export const CAPABILITY = 'tickets.create';
export const ANYWHERE: TopologyPreference = {
  ...{ region: null, zone: null, crossRegion: true, capacityClass: null },
};

/** One tenant's account with a binding of the one capability; version 1.0.0 of its connector. */
export interface AccountSeed {
  readonly tenant: string;
  readonly instance: string;
  readonly connector: string;
  readonly priority: number;
  readonly spill: 'never' | 'capacity';
  readonly spread: boolean;
  readonly quota: string | null;
}

export interface ReplicaSeed {
  readonly replica: string;
  readonly tenant: string;
  readonly instance: string;
  readonly capacity: number;
  readonly region: string;
  readonly zone: string;
  readonly capacityClass: string;
}

/** Changes of the catalog, as a publication would make them. */
export interface CatalogChange {
  readonly binding?: { readonly instance: string; readonly enabled: boolean };
  readonly approval?: { readonly instance: string; readonly required: boolean };
  readonly instance?: { readonly instance: string; readonly status: 'enabled' | 'disabled' };
  readonly connector?: { readonly connector: string; readonly enabled: boolean };
  readonly version?: {
    readonly connector: string;
    readonly status: 'active' | 'deprecated' | 'revoked';
  };
  /** Until when the connector's first version has its evidence, from now. */
  readonly evidence?: { readonly connector: string; readonly endsInMs: number };
  readonly credential?: { readonly instance: string; readonly status: 'active' | 'revoked' };
  readonly quota?: { readonly id: string; readonly limits: QuotaLimits };
  readonly rate?: { readonly connector: string; readonly limit: RateLimit };
  readonly settings?: Partial<FleetSettings>;
  /** The instance moves on to a version that has not been there before. */
  readonly rollout?: { readonly instance: string; readonly version: string };
  readonly offer?: CapabilityOffer;
  readonly removedOffer?: { readonly connector: string; readonly capability: string };
  readonly profiles?: { readonly connector: string; readonly names: readonly string[] };
  /** The change is a revision of its own. */
  readonly published?: true;
}

/** One more capability of a connector. */
export interface CapabilityOffer {
  readonly capability: string;
  readonly interfaceName: string;
  readonly connector: string;
  /** Whose instance binds it; null: nobody's. */
  readonly instance: { readonly tenant: string; readonly id: string } | null;
}

export interface RegistryFixture {
  registry(topology?: TopologyPreference): Registry;
  account(seed: AccountSeed): Promise<void>;
  replica(seed: ReplicaSeed): Promise<void>;
  change(change: CatalogChange): Promise<void>;
  /** Lets time pass for everything that is stored. */
  elapse(ms: number): Promise<void>;
  /** Counters that are not 0, by `scope key`. */
  held(): Promise<Record<string, number>>;
  /** Evidence that came after the attempt was settled otherwise. */
  lateEvidence(tenant: string, action: string, fence: number): Promise<unknown[]>;
  /** The action's time is over: retention makes a tombstone of it. False: it does not. */
  bury(tenant: string, action: string): Promise<boolean>;
  /** Holds reserving as after a restore, or releases it. */
  recovering(held: boolean): Promise<void>;
  close(): Promise<void>;
}

export const requestOf = (action: string) => Buffer.from(JSON.stringify({ title: action }));

/** One test's registry: accounts, ready hosts and actions in a word each. */
export class Rig {
  readonly fixture: RegistryFixture;
  readonly registry: Registry;
  #calls = 0;

  constructor(fixture: RegistryFixture) {
    this.fixture = fixture;
    this.registry = fixture.registry();
  }

  async account(seed: Partial<AccountSeed> = {}): Promise<void> {
    await this.fixture.account({
      ...{ tenant: 'acme', instance: 'main', connector: 'tracker', priority: 100 },
      ...{ spill: 'never', spread: false, quota: null, ...seed },
    });
  }

  /** A replica that is registered and ready. */
  async host(seed: Partial<ReplicaSeed> & { readonly replica: string }): Promise<void> {
    await this.provision(seed);
    await this.call(seed.replica, 'register');
    await this.call(seed.replica, 'heartbeat');
  }

  async provision(seed: Partial<ReplicaSeed> & { readonly replica: string }): Promise<void> {
    await this.fixture.replica({
      ...{ tenant: 'acme', instance: 'main', capacity: 10, region: 'eu', zone: 'a' },
      ...{ capacityClass: 'standard', ...seed },
    });
  }

  /** A lifecycle call that continues the replica's sequence. */
  async call(
    replicaId: string,
    what: 'register' | 'heartbeat' | 'unhealthy' | 'drain' | 'offline',
  ): Promise<LifecycleAnswer> {
    const previousSequence = await this.sequence(replicaId);
    this.#calls += 1;
    const call = { replicaId, previousSequence, requestId: `call-${this.#calls}` };
    const { administrator } = this.registry;
    switch (what) {
      case 'register':
        return administrator.register({ ...call, storeEpoch: 'epoch-1' });
      case 'heartbeat':
      case 'unhealthy':
        return administrator.heartbeat({ ...call, healthy: what === 'heartbeat' });
      case 'drain':
        return administrator.drain(call);
      case 'offline':
        return administrator.offline(call);
    }
  }

  /** The sequence that the registry expects next to be named. */
  async sequence(replicaId: string): Promise<number> {
    const asked = { replicaId, requestId: 'ask', previousSequence: 999_999 };
    const answer = await this.registry.administrator.drain(asked);
    return answer.kind === 'stale_sequence' ? answer.sequence : 0;
  }

  async start(action: string, tenant = 'acme', capability = CAPABILITY) {
    const answer = await this.startAt(null, action, { tenant, capability });
    if (answer.kind === 'stale_plan') throw new Error('no revision was asked for');
    return answer;
  }

  /** Starts it only at that revision; null: at any. */
  startAt(
    ifCatalogRevision: number | null,
    action: string,
    { tenant = 'acme', capability = CAPABILITY } = {},
  ): Promise<StartAnswer> {
    return this.registry.ledger.startAction({
      ...{ tenantId: tenantId(tenant), actionId: action, capabilityId: capability },
      ...{ request: requestOf(action), affinityKey: null, requestedBy: 'ada' },
      ...{ deadlineMs: 3_600_000, retryBudget: 5, attendAfterMs: 2_000, ifCatalogRevision },
    });
  }

  request(action: string, changes: Partial<ReserveRequest> = {}): ReserveRequest {
    const tenant = changes.tenantId ?? tenantId('acme');
    return {
      ...{ tenantId: tenant, actionId: action, capabilityId: CAPABILITY, attemptNo: 1 },
      requestDigest: createHash('sha256').update(requestOf(action)).digest('hex'),
      ...{ owner: `action/${tenant}/${action}`, affinityKey: null, holdMs: 20_000 },
      aboveFence: null,
      ...changes,
    };
  }

  /** Starts the action if need be, and reserves. */
  async reserve(action: string, changes: Partial<ReserveRequest> = {}): Promise<ReserveAnswer> {
    await this.start(action, changes.tenantId ?? 'acme');
    return this.registry.resolver.reserveRoute(this.request(action, changes));
  }

  /** Reserves, and fails where that is refused. */
  async reserved(action: string, changes: Partial<ReserveRequest> = {}) {
    const answer = await this.reserve(action, changes);
    if (answer.kind !== 'reserved') throw new Error(`not reserved: ${JSON.stringify(answer)}`);
    return answer;
  }

  settle(
    action: string,
    fence: number,
    settlement: Settlement,
    unknownCause: UnknownCause | null = settlement === 'outcome_unknown' ? 'host' : null,
  ): Promise<SettleAnswer> {
    return this.registry.resolver.settleRoute({
      ...{ tenantId: tenantId('acme'), actionId: action, fence, settlement, unknownCause },
      evidence: { note: `${settlement} of ${action}` },
    });
  }

  /** Reserves and settles at once. */
  async run(action: string, settlement: Settlement): Promise<void> {
    const { reservation } = await this.reserved(action);
    await this.settle(action, reservation.fence, settlement);
  }

  /** Clears an unknown outcome up: nothing began, the action may be reserved again. */
  async clearUp(action: string): Promise<void> {
    const at = { tenantId: tenantId('acme'), actionId: action, reason: null, waiting: false };
    const { ledger } = this.registry;
    await ledger.moveAction({ ...at, from: ['unknown'], to: 'reconciling', result: null });
    await ledger.moveAction({ ...at, from: ['reconciling'], to: 'requested', result: null });
  }

  async stateOf(action: string): Promise<string> {
    return (await this.start(action)).action.state;
  }
}

export const SCOPES: readonly QuotaScope[] = [
  ...(['binding', 'instance', 'connector', 'tenant_retry', 'tenant', 'global'] as const),
];
