/** What the database answers to upkeep and recovery, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { ACTION_STATES } from '../domain/action-states';
import type { ActionRef } from '../domain/action-service';
import { tenantId } from '../domain/ids';
import type { RecoveryStatus } from '../domain/recovery';
import type { CounterDifference, RetainedBatch } from '../domain/upkeep';

export const RetainedBatchRow = z.object({
  actions: z.int(),
  artifacts: z.int(),
  tombstones: z.int(),
}) satisfies z.ZodType<RetainedBatch>;

export const CounterDifferenceRow = z.object({
  counter: z.enum(['active_assignments', 'probes', 'held']),
  tenantId: z.string().nullable(),
  scope: z.string().nullable(),
  subject: z.string(),
  recorded: z.int(),
  counted: z.int(),
}) satisfies z.ZodType<CounterDifference>;

const Tenant = z.string().transform(tenantId);

export const ActionRefRow = z.object({
  tenantId: Tenant,
  actionId: z.string(),
}) satisfies z.ZodType<ActionRef>;

/** An open action of the restored rows. */
export const OpenActionRow = ActionRefRow.extend({
  /** Its place in the order of the list. */
  attendAt: z.string(),
  routed: z.boolean(),
});
export type OpenActionRow = z.infer<typeof OpenActionRow>;

export const RecoveryStatusRow = z.object({
  since: z.string().nullable(),
  states: z.partialRecord(z.enum(ACTION_STATES), z.int()),
  forPeople: z.array(ActionRefRow.extend({ reason: z.string(), detail: z.string().nullable() })),
}) satisfies z.ZodType<RecoveryStatus>;
