/** What the story is played with, and what a line of it comes to. */
import type { Action, CancelAnswer } from '../../schemas/api-actions';
import type {
  DeliveryFilters,
  DeliveryHistory,
  DeliveryPage,
  ReplayAccepted,
} from '../../schemas/api-deliveries';
import type { TenantFleet } from '../../schemas/api-fleet';
import type { RouteDetail } from '../../schemas/api-routes';
import type { Payload, Payloads } from '../payloads';
import type { ProviderControl } from '../provider-control';
import type { ReceiverClient } from '../receiver-client';

/** What is asked of an action. */
export interface ActionWish {
  readonly capabilityId: string;
  readonly request: unknown;
}

/** The API, as a dispatcher sees it. */
export interface ActionApi {
  /** Waits up to `waitMs` for its end. */
  startAction(actionId: string, wish: ActionWish, waitMs: number): Promise<Action>;
  showAction(actionId: string): Promise<Action>;
  cancelAction(actionId: string, reason: string): Promise<CancelAnswer>;
  showRoute(actionId: string): Promise<RouteDetail>;
  fleetStatus(query: { readonly limit: string }): Promise<TenantFleet>;
}

/** The API, as an operator of deliveries sees it. */
export interface DeliveryApi {
  list(query: DeliveryFilters): Promise<DeliveryPage>;
  show(deliveryId: string): Promise<DeliveryHistory>;
  replay(deliveryId: string, reason: string): Promise<ReplayAccepted>;
}

export interface StoryDeps {
  readonly payloads: Payloads;
  readonly api: DeliveryApi;
  readonly actions: ActionApi;
  readonly receiver: ReceiverClient;
  /** The product of the demo hosts: whose records count. */
  readonly provider: ProviderControl;
  /** Where GitHub would send this event for a program of ours. */
  readonly ingressUrl: (payload: Payload) => string;
  /** The path of the receiver where this event ends. */
  readonly targetPath: (payload: Payload) => string;
  /** Where GitHub would send this event for an action to be made of it. */
  readonly actionIngressUrl: (payload: Payload) => string;
  readonly githubSecret: string;
  /** Ids of the workflows that the Temporal UI lists as failed deliveries of the tenant. */
  readonly failedWorkflows: () => Promise<readonly string[]>;
  /** Kills the Temporal server for real, runs the work, and starts it again; null: not ours. */
  readonly withoutTemporal: ((work: () => Promise<void>) => Promise<void>) | null;
  /** Kills the host of this replica for real, runs the work, and starts it again. */
  readonly withoutHost: (replicaId: string, work: () => Promise<void>) => Promise<void>;
  readonly newGuid: () => string;
}

export interface Outcome {
  /** Of the delivery or action that the line is about, or of the first of several. */
  readonly id: string | null;
  /** What was seen. */
  readonly seen: string;
  /** Its page in the Temporal UI, where it has one. */
  readonly url: string | null;
}

/** One line of the story, not played yet. */
export interface Chapter {
  readonly what: string;
  /** @throws Unexpected, or whatever else kept it from coming out */
  readonly play: () => Promise<Outcome>;
}

export interface StoryLine extends Outcome {
  readonly what: string;
  readonly expected: boolean;
}
