/** What people decide about actions, as the API takes and answers it. */
import { z } from 'zod';
import { MAX_REASON } from '../domain/plain-text';
import { RESOLUTIONS } from '../domain/resolutions';
import { Action } from './api-actions';
import { reasonText } from './api-common';

export const ApprovalAnswered = z
  .object({
    decision: z
      .enum(['approved', 'denied', 'already'])
      .describe('already: the same was decided before.'),
    action: Action,
  })
  .meta({ id: 'ApprovalAnswered' });
export type ApprovalAnswered = z.infer<typeof ApprovalAnswered>;

export const ResolveBody = z.strictObject({
  outcome: z
    .enum(RESOLUTIONS)
    .describe(
      'completed: the effect is there; failed, cancelled: it is not, and shall not be; ' +
        'retry: it is certain that it is not, and the action is sent again.',
    ),
  reason: reasonText(MAX_REASON).describe('How that is known, for the record.'),
});

export const ResolveAnswer = z
  .object({ decision: z.literal('resolved'), action: Action })
  .meta({ id: 'ResolveAnswer' });
export type ResolveAnswer = z.infer<typeof ResolveAnswer>;
