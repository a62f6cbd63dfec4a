/** Where deliveries go: a call over HTTP, an action, a workflow, or an event alone. */
import { z } from 'zod';
import { Duration } from '../durations';
import { Name } from '../names';
import { SecretReference } from '../secret-references';
import type { ActionTarget } from '../targets';
import { DEFAULT_TARGET_FLOW, FromPayload, SuccessCheck } from '../targets';
import { template } from './templates';
import { WebAddress } from './web-addresses';
import { TaskQueue, WorkflowType } from './workflow-documents';

/** How long starting an action may take. */
const ACTION_TIMEOUT_MS = 10_000;
/** How long the outbox may take. */
const EVENT_TIMEOUT_MS = 10_000;

const Timeout = Duration.pipe(
  z.number().min(100, 'must be at least 100ms').max(240_000, 'must be at most 240s'),
);

const WrittenHttpTarget = z
  .strictObject({
    url: WebAddress,
    timeout: Timeout.default(10_000),
    secretRefs: z
      .array(SecretReference)
      .max(2, 'at most two: the current secret first, then the previous one')
      .default([]),
    success: SuccessCheck.nullable().default(null),
  })
  .transform(({ url, timeout, secretRefs, success }) => ({
    url,
    timeoutMs: timeout,
    secretRefs,
    success,
  }));

const WrittenActionTarget = z
  .strictObject({
    capability: Name,
    request: template(['from']).default(null),
    affinity: FromPayload.nullable().default(null),
  })
  .transform(({ capability, request, affinity }) => ({
    capabilityId: capability,
    request: request as ActionTarget['request'],
    affinity,
    timeoutMs: ACTION_TIMEOUT_MS,
  }));

/** Nothing is called, so there is nothing to say. */
const WrittenEventTarget = z.strictObject({}).transform(() => ({ timeoutMs: EVENT_TIMEOUT_MS }));

/** How long starting or signalling a workflow may take. */
const WORKFLOW_TIMEOUT_MS = 10_000;

const WrittenWorkflowTarget = z
  .strictObject({
    taskQueue: TaskQueue,
    type: WorkflowType,
    signal: z.strictObject({ name: WorkflowType, workflow: Name }).nullable().default(null),
  })
  .transform(({ taskQueue, type, signal }) => ({
    ...{ taskQueue, workflowType: type, signal, timeoutMs: WORKFLOW_TIMEOUT_MS },
  }));

const DrainPerSecond = z.number().min(0.001).max(1000);

const Breaker = z.strictObject({
  failures: z.int().min(0).max(1000).default(DEFAULT_TARGET_FLOW.breakerFailures),
  open: Duration.pipe(
    z.number().min(100, 'must be at least 100ms').max(3_600_000, 'must be at most 1h'),
  ).default(DEFAULT_TARGET_FLOW.breakerOpenMs),
});

export const TARGET_KINDS = ['http', 'action', 'workflow', 'event'] as const;

/** Exactly one of its kinds is not null. */
export const TargetDocument = z
  .strictObject({
    kind: z.literal('Target'),
    tenant: Name,
    id: Name,
    http: WrittenHttpTarget.nullable().default(null),
    action: WrittenActionTarget.nullable().default(null),
    workflow: WrittenWorkflowTarget.nullable().default(null),
    event: WrittenEventTarget.nullable().default(null),
    drainPerSecond: DrainPerSecond.default(DEFAULT_TARGET_FLOW.drainPerSecond),
    maxInFlight: z.int().min(1).max(100).default(DEFAULT_TARGET_FLOW.maxInFlight),
    breaker: Breaker.default(Breaker.parse({})),
  })
  .superRefine((thing, context) => {
    const given = TARGET_KINDS.filter((kind) => thing[kind] !== null);
    if (given.length === 1) return;
    const message =
      given.length === 0
        ? `is missing; a target is one of ${TARGET_KINDS.join(', ')}`
        : `a target is one of ${TARGET_KINDS.join(', ')}, not several`;
    context.addIssue({ code: 'custom', path: [given[1] ?? 'http'], message });
  });
export type TargetDocument = z.infer<typeof TargetDocument>;
