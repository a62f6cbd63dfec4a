/** What the functions of bulk replay in the database answer, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { BULK_REPLAY_STATES, SKIP_REASONS } from '../domain/bulk-replays';
import { BulkReplayFilter } from './api-bulk-replays';
import { DeliveryFacts } from './delivery-rows';

/** What a job has come to. */
export const BulkReplayProgress = z.object({
  state: z.enum(BULK_REPLAY_STATES),
  planned: z.number(),
  truncated: z.boolean(),
  replayed: z.number(),
  acknowledged: z.number(),
  failedAgain: z.number(),
  open: z.number(),
  skipped: z.partialRecord(z.enum(SKIP_REASONS), z.number()),
  left: z.number(),
  movedBy: z.string().nullable(),
  movedWhy: z.string().nullable(),
  requestedBy: z.string(),
  runBy: z.string().nullable(),
  reason: z.string(),
  filter: BulkReplayFilter,
  createdAt: z.string(),
  /** Nothing is waited for any longer that is still under way. */
  watchOver: z.boolean(),
  /** Its signed statement is written. */
  concluded: z.boolean(),
  now: z.string(),
});
export type BulkReplayProgress = z.infer<typeof BulkReplayProgress>;

const Unknown = z.object({ answer: z.literal('unknown_job') });
const progress = { progress: BulkReplayProgress };

export const CreateReplayAnswer = z.object({ answer: z.enum(['planning', 'too_many']) });
export type CreateReplayAnswer = z.infer<typeof CreateReplayAnswer>;

export const PlanReplayAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.enum(['planning', 'planned', 'moved']), ...progress }),
  Unknown,
]);
export type PlanReplayAnswer = z.infer<typeof PlanReplayAnswer>;

export const MoveReplayAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.enum(['moved', 'already', 'refused']), state: z.enum(BULK_REPLAY_STATES) }),
  Unknown,
]);
export type MoveReplayAnswer = z.infer<typeof MoveReplayAnswer>;

export const SettleReplayAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.literal('progress'), ...progress }),
  Unknown,
]);
export type SettleReplayAnswer = z.infer<typeof SettleReplayAnswer>;

export const DueReplaysAnswer = z.discriminatedUnion('answer', [
  z.object({
    answer: z.literal('due'),
    items: z.array(z.object({ position: z.number(), deliveryId: z.string() })),
    waitMs: z.number().nullable(),
    full: z.array(z.string()),
    held: z.array(z.string()),
  }),
  z.object({ answer: z.literal('moved'), ...progress }),
  Unknown,
]);
export type DueReplaysAnswer = z.infer<typeof DueReplaysAnswer>;

export const ReplayPlannedAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.literal('replayed'), series: z.number() }),
  z.object({ answer: z.literal('skipped'), why: z.enum(SKIP_REASONS) }),
  z.object({ answer: z.enum(['done', 'not_running', 'unknown_job']) }),
  z.object({ answer: z.literal('chain_moved'), facts: DeliveryFacts }),
]);
export type ReplayPlannedAnswer = z.infer<typeof ReplayPlannedAnswer>;

export const ConcludeReplayAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.literal('concluded') }),
  z.object({ answer: z.literal('progress'), ...progress }),
  Unknown,
]);
export type ConcludeReplayAnswer = z.infer<typeof ConcludeReplayAnswer>;

export const UnattendedReplay = z.object({ tenant_id: z.string(), job_id: z.string() });
export type UnattendedReplay = z.infer<typeof UnattendedReplay>;

export const RetainedReplaysBatch = z.object({
  items: z.number(),
  jobs: z.number(),
  more: z.boolean(),
});
export type RetainedReplaysBatch = z.infer<typeof RetainedReplaysBatch>;
