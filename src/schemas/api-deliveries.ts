/** Deliveries as the API shows them. The reads of `src/db` answer rows in these shapes. */
import { z } from 'zod';
import { MAX_REPLAY_REASON } from '../domain/replay-requests';
import { DELIVERY_STATES } from '../domain/delivery-states';
import { DRIVERS, LANES } from '../domain/lanes';
import { NAME_PATTERN } from '../domain/ids';
import { Answered, Instant, pageFields, paging, PLAIN_TEXT, reasonText } from './api-common';
import { ReceiptEntry } from './api-receipts';
import { MAX_APPROVAL_LENGTH } from './approval-tokens';
import { Sending } from './sending-rows';

export const ApprovalToken = z
  .string()
  .min(1)
  .max(MAX_APPROVAL_LENGTH)
  .regex(/^[A-Za-z0-9_.-]+$/, 'must be an approval token');

const Name = z.string().regex(NAME_PATTERN, 'must be a name such as github-issues');

/** In lower case, as ids are stored and as workflow ids are built from them. */
const DeliveryIdParam = z
  .uuid({ error: 'must be a UUID' })
  .transform((text) => text.toLowerCase())
  .describe('The delivery id.');

export const DeliveryParams = z.strictObject({ deliveryId: DeliveryIdParam });

export const DeliveryFilters = z.strictObject({
  direction: z.enum(['inbound', 'outbound']).optional(),
  connector: Name.optional(),
  subscription: Name.optional(),
  state: z.enum(DELIVERY_STATES).optional(),
  reason: z
    .string()
    .regex(/^[a-z][a-z_]{0,63}$/, 'must be a reason such as status_refused')
    .optional()
    .describe('Why it was rejected, failed, or waits.'),
  eventType: z
    .string()
    .min(1)
    .max(256)
    .regex(PLAIN_TEXT, 'must not contain control characters')
    .optional()
    .describe("The vendor's event type."),
  receivedFrom: Instant.optional().describe('Received at this instant or later.'),
  receivedTo: Instant.optional().describe('Received before this instant.'),
  externalId: z
    .string()
    .min(1)
    .max(256)
    .regex(PLAIN_TEXT, 'must not contain control characters')
    .optional()
    .describe("The vendor's own delivery id."),
});
export type DeliveryFilters = z.infer<typeof DeliveryFilters>;

export const ListDeliveriesQuery = DeliveryFilters.extend(paging);

export const ReplayBody = z.strictObject({
  reason: reasonText(MAX_REPLAY_REASON).describe(
    'Why it is replayed; kept in the audit log and in the receipt.',
  ),
  confirmUncertain: z
    .boolean()
    .default(false)
    .describe('Of one that was sent: it may have had its effect already, and is to be sent again.'),
  approval: ApprovalToken.optional().describe(
    'Of such a one of the class external: an approval token that was not used before.',
  ),
});

/** One delivery as a row of the list, without its links. */
export const DeliveryRow = z.object({
  deliveryId: z.uuid(),
  direction: z.enum(['inbound', 'outbound']),
  connectorId: z.string(),
  instanceId: z.string(),
  subscriptionId: z.string().nullable(),
  externalId: z.string().nullable().describe("The vendor's own id; of a rejected one, as claimed."),
  eventType: z.string(),
  state: z.enum(DELIVERY_STATES),
  reason: z.string().nullable().describe('Why it was rejected, failed, or waits.'),
  detail: z.string().nullable(),
  uncertain: z
    .boolean()
    .describe('Of one that was sent: it may have had its effect, and nobody knows.'),
  lane: z.enum(LANES).describe("Its subscription's when it was accepted."),
  driver: z
    .enum(DRIVERS)
    .describe(
      'Who makes the next move, or made the last one: its workflow, or the loop of the express lane.',
    ),
  attempts: z.int().describe('Attempts over all series.'),
  series: z.int().describe('1, and one more with each replay.'),
  duplicateOf: z.uuid().nullable(),
  readmittedFrom: z
    .uuid()
    .nullable()
    .describe('The rejected delivery whose bytes it was made of, after its secret was corrected.'),
  conflict: z.boolean().describe('A duplicate whose bytes differ from the first one.'),
  payloadSha256: z.string(),
  payloadBytes: z.int(),
  receivedAt: Answered,
  settledAt: Answered.nullable(),
  nextAttemptAt: Answered.nullable(),
  waitingSince: Answered.nullable(),
  receiptRef: z.string().nullable().describe('The newest receipt, delivery/<id>/<seq>.'),
});
export type DeliveryRow = z.infer<typeof DeliveryRow>;

const AttemptEntry = z.object({
  attempt: z.int(),
  series: z.int(),
  owner: z.string().describe('Which run and worker opened it.'),
  targetId: z.string(),
  openedAt: Answered,
  deadlineAt: Answered,
  closedAt: Answered.nullable(),
  outcome: z.enum(['acknowledged', 'refused', 'not_sent', 'unknown']).nullable(),
  reason: z.string().nullable(),
  detail: z.string().nullable(),
  status: z.int().nullable().describe("The answer's HTTP status."),
  durationMs: z.int().nullable(),
  answerSha256: z.string().nullable(),
  answerHead: z.string().nullable().describe('The first bytes of the answer, as text.'),
  lateEvidence: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe('What a stale worker reported after the attempt was closed without it.'),
});

const ReplayEntry = z.object({
  replayedAt: Answered,
  replayedBy: z.string(),
  reason: z.string(),
  series: z.int(),
});

/** Everything that is known of one delivery, without its links. */
export const DeliveryHistoryRow = DeliveryRow.extend({
  contentType: z.string().nullable(),
  keptHeaders: z
    .array(z.tuple([z.string(), z.string()]))
    .describe("The vendor's headers that are sent along to the target."),
  evidence: z.record(z.string(), z.unknown()).describe('How the request was verified.'),
  sending: Sending.nullable().describe(
    'Of one that was sent: who asked for it, its class, budget, policy decision and approvals.',
  ),
  attemptHistory: z.array(AttemptEntry).describe('Oldest first; the newest 1000.'),
  receipts: z.array(ReceiptEntry).describe('The chain, oldest first; the newest 1000.'),
  replays: z.array(ReplayEntry).describe('Oldest first; the newest 1000.'),
});
export type DeliveryHistoryRow = z.infer<typeof DeliveryHistoryRow>;

const links = {
  workflowId: z.string().nullable().describe('Its workflow in Temporal; null for what has none.'),
  workflowUrl: z.string().nullable().describe("The workflow's page in the Temporal UI, if any."),
};

export const DeliverySummary = DeliveryRow.extend(links).meta({ id: 'DeliverySummary' });
export type DeliverySummary = z.infer<typeof DeliverySummary>;

export const DeliveryHistory = DeliveryHistoryRow.extend(links).meta({ id: 'DeliveryHistory' });
export type DeliveryHistory = z.infer<typeof DeliveryHistory>;

export const DeliveryPage = z
  .object({
    view: pageFields.view,
    deliveries: z.array(DeliverySummary).describe('Newest first.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'DeliveryPage' });
export type DeliveryPage = z.infer<typeof DeliveryPage>;

export const ReplayAccepted = z
  .object({
    deliveryId: z.uuid(),
    outcome: z
      .enum(['replayed', 'already_replaying'])
      .describe('already_replaying: an earlier replay is still under way.'),
    series: z.int().describe('The series of attempts that the replay opened.'),
    state: z.enum(DELIVERY_STATES),
  })
  .meta({ id: 'ReplayAccepted' });
export type ReplayAccepted = z.infer<typeof ReplayAccepted>;
