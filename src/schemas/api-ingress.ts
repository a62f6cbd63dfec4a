/** What an ingress answers to a vendor. */
import { z } from 'zod';

export const IngressParams = z.object({
  ingressRef: z.string().describe("The ingress's reference, as published with its subscription."),
});

/** Any bytes: nothing is parsed before the signature was verified. */
export const IngressBody = z.unknown().describe('The raw bytes as the vendor signed them.');

export type IngressParams = z.infer<typeof IngressParams>;

export const IngressAnswer = z
  .discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('accepted'),
      deliveryId: z.uuid(),
    }),
    z.object({
      outcome: z
        .enum(['duplicate', 'conflict'])
        .describe('conflict: the same key was seen with other bytes; a person looks at it.'),
      deliveryId: z.uuid().describe('The record of this copy.'),
      firstDeliveryId: z.uuid().describe('The delivery that is dispatched.'),
    }),
    z.object({
      outcome: z
        .literal('ignored')
        .describe('Verified, but the subscription does not take this event type: not stored.'),
    }),
  ])
  .meta({ id: 'IngressAnswer' });
export type IngressAnswer = z.infer<typeof IngressAnswer>;
