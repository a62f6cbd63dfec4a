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

/** How much goes to a target at once, and when nothing does. */
export const TargetFlow = z.strictObject({
  /** How many of the deliveries that waited go out in a second. */
  drainPerSecond: z.number().min(0.001).max(1000),
  /** Attempts under way at once; of the kind http only, as is the breaker. */
  maxInFlight: z.int().min(1).max(100),
  /** Failing attempts in a row that open the breaker; 0: never. */
  breakerFailures: z.int().min(0).max(1000),
  /** For how long at first. */
  breakerOpenMs: z.int().min(100).max(3_600_000),
});
export type TargetFlow = z.infer<typeof TargetFlow>;

export const DEFAULT_TARGET_FLOW: TargetFlow = {
  drainPerSecond: 10,
  maxInFlight: 50,
  breakerFailures: 5,
  breakerOpenMs: 30_000,
};

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

/** A delivery that becomes a workflow of somebody else, or a signal to one. */
export const WorkflowTarget = z.strictObject({
  taskQueue: z.string(),
  workflowType: z.string(),
  /** Null: one is started for each delivery. */
  signal: z.strictObject({ name: z.string(), workflow: z.string() }).nullable(),
  timeoutMs: z.int().min(100).max(240_000),
});
export type WorkflowTarget = z.infer<typeof WorkflowTarget>;

/** What a platform admin lets be started or signalled; `tenants` null: by all of them. */
export const AllowedWorkflow = z.strictObject({
  taskQueue: z.string(),
  workflowType: z.string(),
  tenants: z.array(z.string()).nullable(),
});
export type AllowedWorkflow = z.infer<typeof AllowedWorkflow>;

/** A delivery that is told of by its event alone. */
export const EventTarget = z.strictObject({
  timeoutMs: z.int().min(100).max(240_000),
});
export type EventTarget = z.infer<typeof EventTarget>;
