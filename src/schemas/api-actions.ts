/** Actions as the API takes and shows them. The reads of `src/db` answer rows in these shapes. */
import { z } from 'zod';
import { CANCEL_DECISIONS } from '../domain/action-service';
import { ACTION_STATES } from '../domain/action-states';
import { MAX_REASON } from '../domain/plain-text';
import { Approval, ApprovalToken, PolicyDecision } from './api-approvals';
import { Answered, Flag, Instant, pageFields, paging, PLAIN_TEXT, reasonText } from './api-common';
import { ReceiptEntry } from './api-receipts';
import { Route, RouteAttempt } from './api-routes';
import { ActionId } from './host-messages';
import { isShallow, MAX_NESTING } from './nesting';

/** Longest time that a call waits for its action. */
export const MAX_WAIT_MS = 60_000;

const CapabilityId = z
  .string()
  .min(1)
  .max(200)
  .regex(PLAIN_TEXT, 'must not contain control characters');

const State = z.enum(ACTION_STATES);

/** Each state once and in one order, so that the same filter is written in one way. */
const States = z
  .union([State, z.array(State).min(1).max(ACTION_STATES.length)], {
    error: `must be one or several of ${ACTION_STATES.join(', ')}`,
  })
  .transform((given) => [...new Set(typeof given === 'string' ? [given] : given)].sort());

export const ActionParams = z.strictObject({
  actionId: ActionId.describe(
    'The id that the caller chose: 1 to 200 letters, digits and . _ : -, a letter or digit in front.',
  ),
});

export const ActionFilters = z.strictObject({
  state: States.optional().describe('One state, or several: state=failed&state=cancelled.'),
  capabilityId: CapabilityId.optional(),
  waiting: Flag.optional().describe('true: only those that wait for time or a person.'),
  from: Instant.optional().describe('Started at this instant or later.'),
  until: Instant.optional().describe('Started before this instant.'),
});
export type ActionFilters = z.infer<typeof ActionFilters>;

export const ListActionsQuery = ActionFilters.extend(paging);

export const StartActionQuery = z.strictObject({
  waitMs: z
    .string()
    .regex(/^\d{1,5}$/, `must be a whole number from 0 to ${MAX_WAIT_MS}`)
    .transform(Number)
    .refine((ms) => ms <= MAX_WAIT_MS, `must be a whole number from 0 to ${MAX_WAIT_MS}`)
    .default(0)
    .describe(`How long to wait for its end: 0 to ${MAX_WAIT_MS} ms; 0 without it.`),
});

export const StartActionBody = z.strictObject({
  capabilityId: CapabilityId,
  request: z
    .unknown()
    .refine((value) => value !== undefined, 'is missing')
    .refine((value) => isShallow(value, MAX_NESTING), `is nested deeper than ${MAX_NESTING} levels`)
    .describe("Any JSON that the capability's request schema accepts."),
  affinityKey: z
    .string()
    .min(1)
    .max(200)
    .regex(PLAIN_TEXT, 'must not contain control characters')
    .optional()
    .describe('Keeps a conversation on one account.'),
  deadlineMs: z
    .int()
    .min(1_000)
    .max(7 * 86_400_000)
    .default(3_600_000)
    .describe('How long it may take in all: 1 s to 7 days; an hour without it.'),
  retryBudget: z
    .int()
    .min(0)
    .max(100)
    .default(5)
    .describe('Attempts after the first; 0 to 100, 5 without it.'),
  ifCatalogRevision: z
    .int()
    .min(0)
    .optional()
    .describe('Start it only at this revision of the catalog: that of a verified plan.'),
  approval: ApprovalToken.optional(),
  awaitApproval: z
    .boolean()
    .default(true)
    .describe(
      'false: refuse it where it needs an approval and carries none, rather than ask for one.',
    ),
  policyDecision: PolicyDecision.optional().describe('Recorded as given.'),
});

export const CancelActionBody = z.strictObject({
  reason: reasonText(MAX_REASON).describe('Why it is cancelled, for the record.'),
});

const Result = z.object({
  outcome: z.enum(['succeeded', 'failed', 'cancelled']),
  errorCode: z.string().nullable().describe('A stable word for a failure.'),
  resultSha256: z.string().nullable(),
});

const ProgressReport = z.object({
  note: z.string(),
  percent: z.int().nullable().describe('0 to 100; null where its host does not say.'),
  at: Answered.describe('Since when it says so.'),
});

/** One action as a row of the list, without its links. */
export const ActionRow = z.object({
  actionId: z.string(),
  capabilityId: z.string(),
  state: State,
  reason: z.string().nullable().describe('Why it is where it is; null while nothing is wrong.'),
  detail: z.string().nullable(),
  waitingSince: Answered.nullable().describe('Since when it waits for time or a person.'),
  requestedBy: z.string(),
  deliveryId: z.uuid().nullable().describe('The delivery that started it; null: a dispatcher did.'),
  cancelRequestedBy: z.string().nullable().describe('Who wants it cancelled, if anybody.'),
  requestDigest: z.string().describe("SHA-256 of the request's canonical JSON."),
  createdAt: Answered,
  closedAt: Answered.nullable(),
  deadlineAt: Answered,
  retryBudget: z.int(),
  affinityKey: z.string().nullable(),
  attemptCount: z.int(),
  progress: ProgressReport.nullable().describe(
    'How far its host says it is, while it is under way. It proves nothing.',
  ),
  result: Result.nullable().describe('Written once; null while there is none.'),
});
export type ActionRow = z.infer<typeof ActionRow>;

/** Everything that is known of one action, without its links. */
export const ActionDetailRow = ActionRow.extend({
  result: Result.extend({
    result: z.unknown().describe("The host's answer; null where there is none."),
  }).nullable(),
  route: Route.nullable().describe('Null until it was first reserved.'),
  attempts: z.array(RouteAttempt).describe('Oldest first; the newest 1000.'),
  approval: Approval.nullable().describe('Null: none was asked for, or given ahead.'),
  policyDecision: PolicyDecision.nullable().describe('What the caller has said of its policy.'),
  receipts: z.array(ReceiptEntry).describe('Its chain, oldest first; the newest 1000.'),
  removedAt: Answered.nullable().describe(
    'Since when only its outcome is kept: no request, result, route or attempts. Null while all is.',
  ),
});
export type ActionDetailRow = z.infer<typeof ActionDetailRow>;

const links = {
  workflowId: z.string().describe('Its workflow in Temporal.'),
  workflowUrl: z.string().nullable().describe("The workflow's page in the Temporal UI, if any."),
};

export const ActionSummary = ActionRow.extend(links).meta({ id: 'ActionSummary' });
export type ActionSummary = z.infer<typeof ActionSummary>;

export const Action = ActionDetailRow.extend(links).meta({ id: 'Action' });
export type Action = z.infer<typeof Action>;

export const ActionPage = z
  .object({
    view: pageFields.view,
    actions: z.array(ActionSummary).describe('Newest first.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'ActionPage' });
export type ActionPage = z.infer<typeof ActionPage>;

export const CancelAnswer = z
  .object({
    decision: z
      .enum(CANCEL_DECISIONS)
      .describe(
        'cancelled: nothing had begun; requested: its host is asked to stop; ' +
          'needs_operator: a person decides about it; too_late: it had ended; ' +
          'already: it was asked for before.',
      ),
    action: Action,
  })
  .meta({ id: 'CancelAnswer' });
export type CancelAnswer = z.infer<typeof CancelAnswer>;
