/** Targets at work, and the pausing of targets and subscriptions, as the API shows them. */
import { z } from 'zod';
import { MAX_REPLAY_REASON } from '../domain/replay-requests';
import { BREAKER_STATES } from '../domain/target-flow';
import { Answered, pageFields, paging, reasonText } from './api-common';
import { Name } from './names';

export const ListTargetsQuery = z.strictObject(paging);

export const TargetParams = z.strictObject({ targetId: Name });
export const SubscriptionParams = z.strictObject({ subscriptionId: Name });

export const SwitchBody = z.strictObject({
  reason: reasonText(MAX_REPLAY_REASON).describe('Why; kept in the audit log.'),
});

export const TargetStatus = z
  .object({
    targetId: z.string(),
    kind: z.string(),
    breaker: z
      .enum(BREAKER_STATES)
      .describe('open: its deliveries wait; half_open: one of them tries whether it works again.'),
    failures: z.int().describe('Failing attempts in a row.'),
    openUntil: Answered.nullable().describe('From then on the next delivery tries it.'),
    pausedAt: Answered.nullable(),
    pausedBy: z.string().nullable(),
    pauseReason: z.string().nullable(),
    drainPerSecond: z.number().describe('At which rate what waited goes out.'),
    maxInFlight: z.int().describe('Attempts under way at once; only of the kind http.'),
    inFlight: z.int(),
    waiting: z.int().describe('Deliveries that wait for it; 1000 is as many or more.'),
  })
  .meta({ id: 'TargetStatus' });
export type TargetStatus = z.infer<typeof TargetStatus>;

export const TargetPage = z
  .object({
    view: pageFields.view,
    targets: z.array(TargetStatus).describe('By id.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'TargetPage' });
export type TargetPage = z.infer<typeof TargetPage>;

export const SwitchAnswer = z
  .object({
    id: z.string(),
    paused: z.boolean(),
    outcome: z.enum(['changed', 'unchanged']).describe('unchanged: it was so already.'),
  })
  .meta({ id: 'SwitchAnswer' });
export type SwitchAnswer = z.infer<typeof SwitchAnswer>;
