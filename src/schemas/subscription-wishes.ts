/** What a tenant wants of a subscription, in the words of a fleet file. */
import type { Lane } from '../domain/lanes';

export interface SubscriptionChange {
  readonly instance?: string;
  readonly target?: string;
  readonly eventTypes?: readonly string[];
  /** As a fleet file writes it; null: none of its own. */
  readonly retry?: object | null;
  readonly lane?: Lane;
  readonly drainPerSecond?: number | null;
  readonly ingress?: Partial<WishedIngress>;
}

export interface SubscriptionWish extends SubscriptionChange {
  readonly instance: string;
  readonly target: string;
  readonly eventTypes: readonly string[];
  readonly ingress: WishedIngress;
}

interface WishedIngress {
  readonly secrets: readonly { readonly id: string; readonly ref: string }[];
  /** Bytes. */
  readonly bodyLimit: number;
}
