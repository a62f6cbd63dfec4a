/** What operators ask about routes and do with them, as the API takes and shows it. */
import { z } from 'zod';
import { ACTION_STATES } from '../domain/action-states';
import { MAX_REASON } from '../domain/plain-text';
import { SETTLEMENTS } from '../domain/routes';
import { Answered, pageFields, paging, reasonText } from './api-common';
import { Action } from './api-actions';

export const RepinBody = z.strictObject({
  reason: reasonText(MAX_REASON).describe('Why it is moved, for the record.'),
});

export const RepinAnswer = z
  .object({
    decision: z
      .enum(['repinned', 'already'])
      .describe('repinned: its next reservation chooses anew; already: so it was before.'),
    action: Action,
  })
  .meta({ id: 'RepinAnswer' });
export type RepinAnswer = z.infer<typeof RepinAnswer>;

export const AttemptState = z.enum(['open', 'unknown'], {
  error: 'must be open or unknown',
});
export type AttemptState = z.infer<typeof AttemptState>;

export const ListAttemptsQuery = z.strictObject({
  state: AttemptState.describe(
    'open: reservations that are held now; unknown: actions of which nobody knows what became of them.',
  ),
  ...paging,
});

/** One attempt that somebody may have to look at. */
export const OperatorAttempt = z
  .object({
    since: Answered.describe(
      'open: when it was reserved; unknown: since when nobody knows what became of the action.',
    ),
    actionId: z.string(),
    actionState: z.enum(ACTION_STATES),
    capabilityId: z.string(),
    reason: z.string().nullable().describe('Why the action is where it is.'),
    detail: z.string().nullable(),
    instanceId: z.string(),
    replicaId: z.string(),
    attemptNo: z.int(),
    fence: z.int(),
    probe: z.boolean().describe('true: one of the few that a half-open circuit admits.'),
    deadlineAt: Answered.describe('Until when the reservation holds, or held.'),
    settlement: z.enum(SETTLEMENTS).nullable().describe('Null while it is open.'),
    cause: z
      .enum(['host', 'ours', 'deadline', 'replica_lease', 'offline', 'incarnation'])
      .nullable(),
  })
  .meta({ id: 'OperatorAttempt' });
export type OperatorAttempt = z.infer<typeof OperatorAttempt>;

export const AttemptPage = z
  .object({
    view: pageFields.view,
    attempts: z.array(OperatorAttempt).describe('The longest first.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'AttemptPage' });
export type AttemptPage = z.infer<typeof AttemptPage>;
