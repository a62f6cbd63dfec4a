/** What the functions of idempotency keys in the database answer, parsed once at the edge of `src/db`. */
import { z } from 'zod';

/** The answer of a request, exactly as it was sent. */
export const KeptAnswer = z.object({ type: z.string(), body: z.string() });
export type KeptAnswer = z.infer<typeof KeptAnswer>;

export const ClaimAnswer = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('claimed'), claim: z.number(), effectId: z.uuid() }),
  z.object({ kind: z.literal('answered'), status: z.number(), answer: KeptAnswer }),
  z.object({ kind: z.literal('in_flight'), waitMs: z.number() }),
  z.object({ kind: z.literal('reused') }),
]);
export type ClaimAnswer = z.infer<typeof ClaimAnswer>;
