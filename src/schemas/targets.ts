/** Where deliveries go: the configuration of a target, as rows hold it. */
import { z } from 'zod';

/** A check on the body of a 2xx answer: the value at a JSON pointer must equal this one. */
export const SuccessCheck = z.strictObject({
  pointer: z.string().regex(/^(\/[^/]*)+$/, 'write a JSON pointer such as /ok'),
  equals: z.union([z.string(), z.number(), z.boolean(), z.null()]),
});
export type SuccessCheck = z.infer<typeof SuccessCheck>;

export const HttpTarget = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  /** From connecting, the address looked up included, to the last byte read that is kept. */
  timeoutMs: z.int().min(100).max(240_000),
  /** References to signing secrets (Standard Webhooks); the newest first, at most two. */
  secretRefs: z.array(z.string()).max(2),
  success: SuccessCheck.nullable(),
});
export type HttpTarget = z.infer<typeof HttpTarget>;
