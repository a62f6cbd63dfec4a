/** What the loop of the express lane is answered, beside the attempt that was asked for. */
import { z } from 'zod';
import { OpenAttemptAnswer } from './delivery-rows';

export const ClaimedDelivery = z.object({ delivery_id: z.string() });

/** What opening answers, or what it raised where each is opened by itself. */
export const ClaimAnswer = z.discriminatedUnion('answer', [
  ...OpenAttemptAnswer.options,
  z.object({ answer: z.literal('broken'), info: z.object({ error: z.string() }) }),
]);
