/** What the loop of the express lane is answered, beside the attempt that was asked for. */
import { z } from 'zod';
import { DeliveryFacts, DispatchChain, OpenAttemptAnswer, Opening } from './delivery-rows';

export const ClaimedDelivery = z.object({ delivery_id: z.string() });

/** The chain of those that follow and are ready. */
export const ClaimedChain = z.object({ answer: z.literal('chain'), info: DispatchChain });

/** Opened; with the chain before it, it is what opening one by itself answers. */
export const ReadyDelivery = z.object({
  info: z.object({ facts: DeliveryFacts, opening: Opening }),
  payload: z.instanceof(Uint8Array),
});

/** What opening answers, or what it raised where each is opened by itself. */
export const ClaimAnswer = z.discriminatedUnion('answer', [
  ...OpenAttemptAnswer.options,
  z.object({ answer: z.literal('broken'), info: z.object({ error: z.string() }) }),
]);
