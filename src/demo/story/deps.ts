/** What the story is played with, and what a line of it comes to. */
import type {
  DeliveryFilters,
  DeliveryHistory,
  DeliveryPage,
  ReplayAccepted,
} from '../../schemas/api-deliveries';
import type { Payload, Payloads } from '../payloads';
import type { ReceiverClient } from '../receiver-client';

/** The API, as any client sees it. */
export interface DeliveryApi {
  list(query: DeliveryFilters): Promise<DeliveryPage>;
  show(deliveryId: string): Promise<DeliveryHistory>;
  replay(deliveryId: string, reason: string): Promise<ReplayAccepted>;
}

export interface StoryDeps {
  readonly payloads: Payloads;
  readonly api: DeliveryApi;
  readonly receiver: ReceiverClient;
  /** Where GitHub would send this event. */
  readonly ingressUrl: (payload: Payload) => string;
  /** The path of the receiver where this event ends. */
  readonly targetPath: (payload: Payload) => string;
  readonly githubSecret: string;
  /** Ids of the workflows that the Temporal UI lists as failed deliveries of the tenant. */
  readonly failedWorkflows: () => Promise<readonly string[]>;
  /** Kills the Temporal server for real, runs the work, and starts it again; null: not ours. */
  readonly withoutTemporal: ((work: () => Promise<void>) => Promise<void>) | null;
  readonly newGuid: () => string;
}

export interface Outcome {
  /** The delivery that the line is about, or the first of several. */
  readonly deliveryId: string | null;
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
