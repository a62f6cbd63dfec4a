/** What is kept of a rejected request beside its bytes, so that it can be judged again. */
import { z } from 'zod';
import { DELIVERY_STATES } from '../domain/delivery-states';
import { IngestAnswer } from './delivery-rows';

export const RejectedRequest = z.object({
  /** The ingress reference that it was sent to. */
  ref: z.string(),
  method: z.string(),
  /** With its question mark, exactly as received; empty without one. */
  query: z.string(),
  /** Those that its scheme reads. */
  headers: z.array(z.tuple([z.string(), z.string()])),
});
export type RejectedRequest = z.infer<typeof RejectedRequest>;

export const RejectedAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.enum(['unknown_delivery', 'gone']) }),
  z.object({ answer: z.literal('not_rejected'), state: z.enum(DELIVERY_STATES) }),
  z.object({ answer: z.literal('already_readmitted'), deliveryId: z.string() }),
  z.object({ answer: z.literal('kept'), request: RejectedRequest, receivedAtMs: z.number() }),
]);
export type RejectedAnswer = z.infer<typeof RejectedAnswer>;

export const ReadmitAnswer = z.discriminatedUnion('outcome', [
  ...IngestAnswer.options,
  z.object({ outcome: z.literal('already_readmitted'), deliveryId: z.string() }),
  z.object({ outcome: z.literal('gone') }),
]);
export type ReadmitAnswer = z.infer<typeof ReadmitAnswer>;
