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

/** A JSON pointer (RFC 6901); the empty one names the whole value. */
export const JsonPointer = z
  .string()
  .regex(/^(?:\/(?:[^/~]|~[01])*)*$/, 'write a JSON pointer such as /issue/title');

/** Takes the payload's value at a pointer. */
export const FromPayload = z.strictObject({ from: JsonPointer });
export type FromPayload = z.infer<typeof FromPayload>;

/** A delivery that becomes an action of its tenant. */
export const ActionTarget = z.strictObject({
  capabilityId: z.string(),
  /** JSON in which every object that is exactly `{from: pointer}` stands for the payload's value there; null: the payload itself. */
  request: z.json(),
  /** What keeps a conversation on one account; null: nothing does. */
  affinity: FromPayload.nullable(),
  timeoutMs: z.int().min(100).max(240_000),
});
export type ActionTarget = z.infer<typeof ActionTarget>;
