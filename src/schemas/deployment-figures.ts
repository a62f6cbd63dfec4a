/** Counts of the whole deployment, as the database gives them; parsed at the edge of `src/db`. */
import { z } from 'zod';

export const ConnectorCount = z.object({
  provider: z.string(),
  state: z.string(),
  count: z.number(),
});
export type ConnectorCount = z.infer<typeof ConnectorCount>;

export const SubscriptionCount = z.object({
  tenant: z.string(),
  connector: z.string(),
  count: z.number(),
});
export type SubscriptionCount = z.infer<typeof SubscriptionCount>;

export const DeliveryBacklog = z.object({
  /** For how long the most overdue live delivery has waited for attention; 0 when none is overdue. */
  queueAgeS: z.number(),
  openAttempts: z.number(),
});
export type DeliveryBacklog = z.infer<typeof DeliveryBacklog>;

export const SinkFigures = z.object({
  tenant: z.string(),
  sink: z.string(),
  state: z.string(),
  /** Of the oldest event that it has not taken; 0 when it has all. */
  eventAgeS: z.number(),
  /** For how long it has taken nothing, as a whole; 0 when it does. */
  failingS: z.number(),
  /** Subjects of which it refuses an event. */
  parked: z.number(),
});
export type SinkFigures = z.infer<typeof SinkFigures>;

export const HeldCount = z.object({
  what: z.enum(['target', 'subscription', 'action']),
  tenant: z.string(),
  /**
   * Of a target `breaker_open`, `breaker_half_open` or `paused`; of a subscription why it is paused; of an
   * action `awaiting_approval`.
   */
  why: z.string(),
  count: z.number(),
});
export type HeldCount = z.infer<typeof HeldCount>;

export interface DeploymentFigures {
  /** Connector versions. */
  readonly connectors: readonly ConnectorCount[];
  /** Active ones only. */
  readonly subscriptions: readonly SubscriptionCount[];
  readonly backlog: DeliveryBacklog;
  readonly sinks: readonly SinkFigures[];
  /** Targets and subscriptions whose deliveries wait (one that is paused and broken counts twice), and actions. */
  readonly held: readonly HeldCount[];
}
