/** What the HTTP server is made of; the composition passes all of it in. */
import type { Logger } from 'pino';
import type { Database } from '../db/database';
import type { ActionRef, ActionService } from '../domain/action-service';
import type { BulkReplayRef } from '../domain/bulk-replays';
import type { CertificationRef } from '../domain/certification';
import type { DeliveryRef, ReplayAnswer } from '../domain/delivery-activities';
import type { DeliveryId, ReplayJobId, TenantId } from '../domain/ids';
import type { Lane } from '../domain/lanes';
import type { Deliver } from '../domain/sending';
import type { RepinAnswer, RepinWish } from '../domain/repin';
import type { TokenTrust } from '../schemas/host-messages';
import type { SecretProvider } from '../secrets/provider';
import type { FleetReading } from '../services/publications/checked-fleets';
import type { SubscriptionServices } from '../services/subscriptions';
import type { CallLimits } from './rate-limits';
import type { TokenVerifier } from './tokens';

/** Tells whoever makes the next move of a delivery. All are hints: a loop does what they could not. */
export interface DeliveryStarter {
  /**
   * Whether the commit that comes next tells the loop of the express lane, if it holds something for it: where
   * no notice was given this moment. None is given by another one then for some milliseconds.
   */
  tells(): boolean;
  /**
   * Tells the loop of the express lane that something of the tenant is there, unless its commit has told it.
   * Returns at once and never throws; called once the delivery is committed.
   */
  express(tenant: TenantId, told: boolean): void;
  /** Returns at once and never throws; called once the delivery is committed. */
  start(
    ref: DeliveryRef,
    about: {
      readonly connectorId: string;
      readonly eventType: string;
      readonly subscriptionId: string | null;
    },
  ): void;
  /**
   * Tells the delivery's workflow to look at its row again, and starts it where it is closed. Returns
   * at once and never throws, too.
   */
  nudge(ref: DeliveryRef): void;
}

/** What became of a request to an ingress. */
export type IngressOutcome =
  | ('accepted' | 'duplicate' | 'conflict' | 'ignored' | 'refused' | 'stale' | 'limited')
  | 'handshake';

export interface Readiness {
  readonly ready: boolean;
  /** Each check with `ok` or one line on what is wrong, without anything secret. */
  readonly checks: Readonly<Record<string, string>>;
}

/** How long a slow sender is waited for. */
export interface SenderPatience {
  /** Between two pieces of a body. */
  readonly bodyIdleMs: number;
  /** From the first byte of a request to the last one of its body. */
  readonly requestMs: number;
}

/** The service that hosts speak to (docs/host-protocol, "Lifecycle"). */
export interface LifecycleDeps {
  /** Role waybill_lifecycle. */
  readonly fleet: Database;
  /** What a host's call must be addressed to. */
  readonly audience: string;
  /** Whose route tokens hosts are told to believe. */
  readonly trust: TokenTrust;
}

/** What every server is made of, whatever it serves. */
export interface ServerDeps {
  readonly log: Logger;
  /** The JSON Web Key Set of the receipt keys. */
  readonly publicKeys: { readonly keys: readonly Readonly<Record<string, unknown>>[] };
  /** Addresses of balancers whose X-Forwarded-For is believed; empty: nobody's. */
  readonly trustedProxies: readonly string[];
  readonly ready: () => Promise<Readiness>;
  readonly newRequestId: () => string;
  readonly patience?: SenderPatience;
  /** Null: not served. */
  readonly lifecycle: LifecycleDeps | null;
}

/** What calls that change the catalog are made of; their tokens are judged like those of the API. */
export interface AdminDeps {
  readonly tokens: TokenVerifier;
  readonly subscriptions: SubscriptionServices;
  readonly fleets: FleetReading;
}

/** A server that serves neither API nor ingress. */
export interface LifecycleServerDeps extends ServerDeps {
  readonly serve: null;
}

export interface HttpDeps extends ServerDeps {
  /** Role waybill_data. */
  readonly data: Database;
  readonly secrets: SecretProvider;
  readonly starter: DeliveryStarter;
  readonly replay: (
    ref: DeliveryRef,
    who: {
      readonly replayedBy: string;
      readonly reason: string;
      readonly confirmUncertain?: boolean;
      readonly approval?: string | null;
    },
  ) => Promise<ReplayAnswer>;
  readonly deliver: Deliver;
  readonly bulkReplays: {
    /** Starts or wakes the job's workflow. Returns at once and never throws: a loop does it, too. */
    nudge(ref: BulkReplayRef): void;
    newJobId(): ReplayJobId;
  };
  readonly certifications: {
    /** The public key (base64url) that evidence of this deployment is signed with. */
    readonly signer: string;
    /** Starts the run's workflow, unless it works already. @throws WaybillError `temporal_unreachable` */
    start(tenantId: TenantId, ref: CertificationRef): Promise<void>;
  };
  readonly actions: ActionService;
  readonly repin: (ref: ActionRef, wish: RepinWish) => Promise<RepinAnswer>;
  /** The lines of a tenant's export of receipts. */
  readonly exportReceipts: (tenantId: TenantId) => AsyncIterable<string>;
  /** Base URL of the Temporal UI, for links; null where there is none. */
  readonly temporalUi: string | null;
  /** Temporal namespace of the workflows. */
  readonly namespace: string;
  readonly serve: {
    readonly ingress: boolean;
    /** Null: not served. Its calls are judged by their tokens. */
    readonly api: { readonly tokens: TokenVerifier } | null;
    /** Null: not served. What changes the catalog. */
    readonly admin: AdminDeps | null;
  };
  /** The URL under which vendors reach this server; schemes that sign a URL sign this one. */
  readonly publicBaseUrl: string;
  /** Authenticates cursors and makes references of ingresses; the same in every process of the deployment, at least 32 bytes. */
  readonly cursorKey: Uint8Array;
  readonly newDeliveryId: () => DeliveryId;
  /** Counts requests to ingresses by outcome. */
  readonly count: (
    outcome: IngressOutcome,
    about: { readonly tenantId: string; readonly connectorId: string; readonly lane: Lane },
  ) => void;
  /** Of all parts of the process. */
  readonly callLimits: CallLimits;
  /** How long an ingress is used without looking it up again; a second unless told. */
  readonly ingressKeptMs?: number;
  /** Bytes of bodies that are held at once; 256 MiB unless told. */
  readonly bodyBudgetBytes?: number;
}

export const DEFAULT_PATIENCE: SenderPatience = { bodyIdleMs: 10_000, requestMs: 60_000 };
