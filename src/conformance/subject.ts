/** Whom the suite speaks to, and with what. */
import type { ManifestCapability } from '../domain/host-protocol';
import type { RouteAssignment } from '../domain/routes';
import type { ConformanceCases } from '../schemas/conformance';
import type { VectorVendor } from '../schemas/webhook-vectors';
import type { WebhookScheme } from '../schemas/webhook-schemes';
import type { SigningKey } from '../signing/keys';

/** One host: a replica of a version, registered by whoever runs the suite. */
export interface ConformanceSubject {
  readonly endpoint: string;
  readonly transportProfile: RouteAssignment['transportProfile'];
  readonly peerDid: string;
  readonly tenantId: string;
  readonly connectorId: string;
  readonly version: string;
  readonly instanceId: string;
  readonly replicaId: string;
  /** Of its registration. */
  readonly incarnation: number;
  /** Identity of its memory, as it registered it. */
  readonly storeEpoch: string;
  readonly credentialRevision: string;
  /** Of the catalog, or as it registered it. */
  readonly manifestDigest: string;
}

/** What its connector's scheme is tried with; null: it receives no webhooks. */
export interface ConformanceWebhooks {
  readonly scheme: WebhookScheme;
  /** Those that ship with the scheme, and the author's own ones. */
  readonly vectors: readonly VectorVendor[];
}

/** What the host says to whoever it registered with. Each answers a problem, or null. */
export interface ConformanceLifecycle {
  /** The problem of the registration, as it was taken. */
  readonly registered: string | null;
  heartbeat(withinMs: number): Promise<string | null>;
  /** Null: the process of this host is not the suite's to stop. */
  readonly stop: ConformanceStop | null;
}

export interface ConformanceStop {
  /** Asks the process to end, and waits until it says that it drains. */
  begin(withinMs: number): Promise<string | null>;
  /** Tells it that nothing is open any more, and waits until it says that it is offline. */
  finish(withinMs: number): Promise<string | null>;
}

/** As published; a manifest has to say the same. */
export type CatalogContract = Omit<ManifestCapability, 'timeoutMs'>;

export interface ConformanceSetup {
  readonly subject: ConformanceSubject;
  /** Whose tokens the host was told to believe. */
  readonly issuer: string;
  readonly key: SigningKey;
  /** A key that no host was told of. */
  readonly strangerKey: SigningKey;
  readonly cases: ConformanceCases;
  /** What the catalog says of its capabilities; null: there is no catalog. */
  readonly contracts: readonly CatalogContract[] | null;
  readonly webhooks: ConformanceWebhooks | null;
  /** Null: it is registered elsewhere. */
  readonly lifecycle: ConformanceLifecycle | null;
  /** Ids of actions and tokens follow from it: another one for each run. */
  readonly seed: string;
  /** Milliseconds since the epoch, by the clock that tokens are made with. */
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  /** Longest that a group may take, 20 minutes unless told. */
  readonly groupLimitMs?: number;
}
