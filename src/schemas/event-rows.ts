/** What the functions of events and sinks answer. */
import { z } from 'zod';
import { SINK_STATES } from '../domain/event-sinks';

export const OutboxEventRow = z.object({
  tenantId: z.string(),
  aggregate: z.string(),
  sequence: z.number(),
  feedNo: z.number(),
  topic: z.string(),
  data: z.record(z.string(), z.unknown()),
  occurredAt: z.string(),
});

export const ReadEventsAnswer = z.discriminatedUnion('answer', [
  z.object({
    answer: z.literal('page'),
    /** The place from which the next page goes on. */
    through: z.number(),
    /** Whether there is more already. */
    more: z.boolean(),
    events: z.array(OutboxEventRow),
  }),
  z.object({ answer: z.literal('forgotten') }),
]);
export type ReadEventsAnswer = z.infer<typeof ReadEventsAnswer>;

export const ClaimedSink = z.object({
  tenant_id: z.string(),
  sink_id: z.string(),
  lease_no: z.number(),
});
export type ClaimedSink = z.infer<typeof ClaimedSink>;

export const SinkBatch = z.object({
  answer: z.literal('events'),
  url: z.string(),
  timeoutMs: z.number(),
  /** For so long nobody else serves it, from when this was read. */
  leaseMs: z.number(),
  secretRefs: z.array(z.string()),
  /** In a row; with any, there is one event to find out by. */
  failures: z.number(),
  passed: z.number(),
  /** How far the sink has passed once all of these are taken. */
  through: z.number(),
  events: z.array(OutboxEventRow),
  /** How many aggregates are parked. */
  parked: z.number(),
  /** Parked aggregates whose time has come, each with its next events. */
  again: z.array(
    z.object({
      tenantId: z.string(),
      aggregate: z.string(),
      failures: z.number(),
      events: z.array(OutboxEventRow),
    }),
  ),
  /** The database's clock. */
  now: z.string(),
});
export type SinkBatch = z.infer<typeof SinkBatch>;

export const NextSinkEventsAnswer = z.discriminatedUnion('answer', [
  SinkBatch,
  z.object({ answer: z.literal('lost') }),
]);
export type NextSinkEventsAnswer = z.infer<typeof NextSinkEventsAnswer>;

export const ForgottenEvents = z.object({ events: z.number(), missed: z.number() });
export type ForgottenEvents = z.infer<typeof ForgottenEvents>;

/** A sink as a publication reads and writes it. */
export const EventSinkRow = z.object({
  tenant: z.string(),
  id: z.string(),
  url: z.string(),
  timeoutMs: z.number(),
  topics: z.array(z.string()),
  secretRefs: z.array(z.string()),
  state: z.enum(SINK_STATES),
  pauseReason: z.string().nullable(),
});
export type EventSinkRow = z.infer<typeof EventSinkRow>;
