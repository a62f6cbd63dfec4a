/** Bulk replays as the API shows them. The reads of `src/db` answer rows in these shapes. */
import { z } from 'zod';
import { BULK_REPLAY_STATES, SKIP_REASONS } from '../domain/bulk-replays';
import { NAME_PATTERN } from '../domain/ids';
import { MAX_REPLAY_REASON } from '../domain/replay-requests';
import { Answered, Instant, pageFields, paging, PLAIN_TEXT, reasonText } from './api-common';

const Name = z.string().regex(NAME_PATTERN, 'must be a name such as github-issues');
const Text = z.string().min(1).max(256).regex(PLAIN_TEXT, 'must not contain control characters');

export const DEFAULT_RATE_PER_SECOND = 10;
export const MAX_RATE_PER_SECOND = 100;

/** Which failed deliveries are meant; all that is given must match. */
export const BulkReplayFilter = z.strictObject({
  connector: Name.optional(),
  subscription: Name.optional(),
  eventType: Text.optional().describe("The vendor's event type."),
  reason: z
    .string()
    .regex(/^[a-z][a-z_]{0,63}$/, 'must be a reason such as status_refused')
    .optional()
    .describe('Why they failed.'),
  receivedFrom: Instant.optional().describe('Received at this instant or later.'),
  receivedTo: Instant.optional().describe('Received before this instant.'),
});
export type BulkReplayFilter = z.infer<typeof BulkReplayFilter>;

export const PlanReplayBody = z.strictObject({
  filter: BulkReplayFilter.default({}),
  reason: reasonText(MAX_REPLAY_REASON).describe(
    'Why they are replayed; kept with each of them, in the audit log and in its receipt.',
  ),
  ratePerSecond: z
    .int()
    .min(1)
    .max(MAX_RATE_PER_SECOND)
    .default(DEFAULT_RATE_PER_SECOND)
    .describe('To one target, together with what other jobs send it.'),
});
export type PlanReplayBody = z.input<typeof PlanReplayBody>;

export const MoveReplayBody = z
  .strictObject({ reason: reasonText(MAX_REPLAY_REASON).optional().describe('For the audit log.') })
  .nullish();

export const BulkReplayParams = z.strictObject({
  jobId: z
    .uuid({ error: 'must be a UUID' })
    .transform((text) => text.toLowerCase())
    .describe('The job id.'),
});

export const ListBulkReplaysQuery = z.strictObject({
  state: z.enum(BULK_REPLAY_STATES).optional(),
  ...paging,
});

/** One job as a row of the list, without its links. */
export const BulkReplayRow = z.object({
  jobId: z.uuid(),
  state: z.enum(BULK_REPLAY_STATES),
  filter: BulkReplayFilter,
  reason: z.string(),
  ratePerSecond: z.int(),
  requestedBy: z.string(),
  createdAt: Answered,
  planned: z.int().describe('Deliveries in the plan.'),
  truncated: z.boolean().describe('More match: plan again when this one is over.'),
  oldestAt: Answered.nullable().describe('When the oldest of them was received.'),
  newestAt: Answered.nullable(),
  runBy: z.string().nullable().describe('Who let it run: so each delivery says who replayed it.'),
  startedAt: Answered.nullable(),
  replayed: z.int(),
  acknowledged: z.int(),
  failedAgain: z.int(),
  open: z.int().describe('Replayed, and neither acknowledged nor failed again yet.'),
  skipped: z
    .partialRecord(z.enum(SKIP_REASONS), z.int())
    .describe('How many were not replayed, by why.'),
  left: z.int().describe('Neither replayed nor skipped.'),
  movedBy: z.string().nullable().describe('Who paused or cancelled it; `waybill`: by itself.'),
  movedWhy: z.string().nullable(),
  finishedAt: Answered.nullable(),
});
export type BulkReplayRow = z.infer<typeof BulkReplayRow>;

const Sample = z.object({
  deliveryId: z.uuid(),
  eventType: z.string(),
  subscriptionId: z.string(),
  state: z.string(),
  reason: z.string().nullable(),
  receivedAt: Answered,
});

/** Everything that is known of one job, without its links. */
export const BulkReplayDetailRow = BulkReplayRow.extend({
  sample: z.array(Sample).describe('The oldest five.'),
  estimatedMs: z
    .int()
    .describe('How long replaying what is left takes at that rate, if the targets keep up.'),
  receipt: z
    .string()
    .nullable()
    .describe('Compact JWS of what came of it, once it is over; verifies like other receipts.'),
});
export type BulkReplayDetailRow = z.infer<typeof BulkReplayDetailRow>;

const links = {
  workflowId: z.string().describe('Its workflow in Temporal.'),
  workflowUrl: z.string().nullable().describe("The workflow's page in the Temporal UI, if any."),
};

export const BulkReplaySummary = BulkReplayRow.extend(links).meta({ id: 'BulkReplaySummary' });
export type BulkReplaySummary = z.infer<typeof BulkReplaySummary>;

export const BulkReplay = BulkReplayDetailRow.extend(links).meta({ id: 'BulkReplay' });
export type BulkReplay = z.infer<typeof BulkReplay>;

export const BulkReplayPage = z
  .object({
    view: pageFields.view,
    replays: z.array(BulkReplaySummary).describe('Newest first.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'BulkReplayPage' });
export type BulkReplayPage = z.infer<typeof BulkReplayPage>;

export const ITEM_OUTCOMES = [
  'pending',
  'under_way',
  'acknowledged',
  'failed_again',
  'skipped',
] as const;

export const ListReplayItemsQuery = z.strictObject({
  outcome: z.enum(ITEM_OUTCOMES).optional(),
  ...paging,
});

export const ReplayItem = z.object({
  position: z.int().describe('In the plan, oldest first.'),
  deliveryId: z.uuid(),
  subscriptionId: z.string(),
  outcome: z.enum(ITEM_OUTCOMES),
  skippedWhy: z.enum(SKIP_REASONS).nullable(),
  series: z.int().nullable().describe('The series of attempts that its replay opened.'),
});
export type ReplayItem = z.infer<typeof ReplayItem>;

export const ReplayItemPage = z
  .object({
    view: pageFields.view,
    items: z.array(ReplayItem).describe('Oldest first.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'ReplayItemPage' });
export type ReplayItemPage = z.infer<typeof ReplayItemPage>;
