/** Approvals as the API takes and shows them. */
import { z } from 'zod';
import { APPROVAL_STATES, APPROVAL_WAYS } from '../domain/approvals';
import { MAX_REASON } from '../domain/plain-text';
import { Answered, pageFields, paging, PLAIN_TEXT, reasonText } from './api-common';
import { MAX_APPROVAL_LENGTH } from './approval-tokens';

const bounded = (most: number) =>
  z.string().min(1).max(most).regex(PLAIN_TEXT, 'must not contain control characters');

/** Recorded as given; nothing is made of it. */
export const PolicyDecision = z.strictObject({
  id: bounded(200).describe('By which the policy engine knows its decision.'),
  decision: bounded(64).describe('What it was, in its own words.'),
  policy: bounded(200).describe('Which policy decided, with its revision.'),
});

export const ApprovalToken = z
  .string()
  .max(MAX_APPROVAL_LENGTH)
  .describe('A signed approval, as `waybill approvals sign` makes it.');

export const ListApprovalsQuery = z.strictObject(paging);

export const DecideBody = z.strictObject({
  reason: reasonText(MAX_REASON).describe('Why, for the record.'),
});

/** One action that waits for an approval, without its links. */
export const WaitingApprovalRow = z.object({
  actionId: z.string(),
  capabilityId: z.string(),
  requestDigest: z.string().describe("SHA-256 of the request's canonical JSON."),
  requestedBy: z.string().describe('Who may not approve it.'),
  deliveryId: z.uuid().nullable(),
  policyDecision: PolicyDecision.nullable(),
  askedAt: Answered,
  expiresAt: Answered.describe('Then it fails.'),
});
export type WaitingApprovalRow = z.infer<typeof WaitingApprovalRow>;

/** What was asked about one action, and what was said. */
export const Approval = z
  .object({
    state: z
      .enum(APPROVAL_STATES)
      .describe('withdrawn: the action went on without it, or ended before.'),
    askedAt: Answered,
    expiresAt: Answered,
    decidedAt: Answered.nullable(),
    decidedBy: z.string().nullable(),
    decidedVia: z
      .enum(APPROVAL_WAYS)
      .nullable()
      .describe(
        'api: a token with the scope; token: a signed approval; temporal_ui: a typed name; delivery: the approval of what it sends.',
      ),
    reason: z.string().nullable(),
    approvalId: z
      .string()
      .nullable()
      .describe('The reference that its host and its receipts have; null: it is not approved.'),
    token: z.string().nullable().describe('The signed approval, where one was given.'),
    request: z.unknown().describe('What is asked for; null where it is no longer kept.'),
  })
  .meta({ id: 'Approval' });

export const WaitingApproval = WaitingApprovalRow.extend({
  workflowId: z.string().describe('Its workflow in Temporal.'),
  workflowUrl: z.string().nullable().describe("The workflow's page in the Temporal UI, if any."),
}).meta({ id: 'WaitingApproval' });

export const ApprovalPage = z
  .object({
    view: pageFields.view,
    approvals: z.array(WaitingApproval).describe('Those asked for first come first.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'ApprovalPage' });
export type ApprovalPage = z.infer<typeof ApprovalPage>;
