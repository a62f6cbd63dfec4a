/** What the database answers about approvals, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { APPROVAL_STATES } from '../domain/approvals';
import { ActionPosition } from './action-step-rows';

const ApprovalFacts = z.object({
  state: z.enum(APPROVAL_STATES),
  expiresAt: z.string(),
  expiresInMs: z.int(),
  decidedBy: z.string().nullable(),
  reason: z.string().nullable(),
});

export const AskApprovalAnswer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('asked'),
    action: ActionPosition,
    requestedBy: z.string(),
    approval: ApprovalFacts,
  }),
  z.object({ kind: z.literal('looked'), action: ActionPosition }),
  z.object({ kind: z.literal('unknown_action') }),
]);
export type AskApprovalAnswer = z.infer<typeof AskApprovalAnswer>;

export const DecideApprovalAnswer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.enum(['decided', 'already', 'not_waiting', 'approver_is_requester']),
    action: ActionPosition,
    approval: ApprovalFacts.nullable(),
  }),
  z.object({ kind: z.literal('unknown_action') }),
]);
export type DecideApprovalAnswer = z.infer<typeof DecideApprovalAnswer>;
