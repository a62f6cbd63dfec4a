/** What the delivery functions of the database answer, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { ACTION_STATES } from '../domain/action-states';
import { DELIVERY_STATES } from '../domain/delivery-states';
import { DRIVERS, LANES } from '../domain/lanes';
import { SENDING_DOUBTS } from '../domain/sending-verdicts';
import { Connection, OutboundOperation } from './outbound';
import { RetryProfile } from './retry-profiles';
import { ActionResultRow } from './route-rows';
import { CarriedApprovalRow, Sending } from './sending-rows';
import { ActionTarget, EventTarget, HttpTarget, WorkflowTarget } from './targets';
import { WebhookScheme } from './webhook-schemes';

export const DeliveryFacts = z.object({
  state: z.enum(DELIVERY_STATES),
  direction: z.enum(['inbound', 'outbound']),
  connectorId: z.string(),
  subscriptionId: z.string().nullable(),
  externalId: z.string().nullable(),
  eventType: z.string(),
  payloadSha256: z.string(),
  payloadBytes: z.number(),
  attempts: z.number(),
  series: z.number(),
  seriesAttempts: z.number(),
  seriesElapsedMs: z.number(),
  receivedAt: z.string(),
  reason: z.string().nullable(),
  detail: z.string().nullable(),
  /** An outbound one may have had its effect, and nobody knows. */
  uncertain: z.boolean(),
  lane: z.enum(LANES),
  driver: z.enum(DRIVERS),
  receiptSeq: z.number(),
  receiptDigest: z.string().nullable(),
  /** The database's clock when the facts were read. */
  now: z.string(),
});
export type DeliveryFacts = z.infer<typeof DeliveryFacts>;

const anyChain = {
  /** Why nothing may be sent now, though nothing is wrong; null: nothing holds it. */
  heldBy: z.string().nullable(),
  targetId: z.string(),
  retry: RetryProfile,
};

const HttpChain = z.object({ ...anyChain, targetKind: z.literal('http'), target: HttpTarget });
const ActionChain = z.object({
  ...anyChain,
  targetKind: z.literal('action'),
  target: ActionTarget,
});
const EventChain = z.object({ ...anyChain, targetKind: z.literal('event'), target: EventTarget });
const WorkflowChain = z.object({
  ...anyChain,
  targetKind: z.literal('workflow'),
  target: WorkflowTarget,
});
const OutboundChain = z.object({
  ...anyChain,
  targetKind: z.literal('outbound'),
  /** Null: the connector's version knows the operation no more. */
  target: OutboundOperation.nullable(),
  connection: Connection,
  requestedBy: z.string(),
  policyDecision: Sending.shape.policyDecision,
  /** The newest; null: it needs none. */
  approval: CarriedApprovalRow.nullable(),
  budgetAttempts: z.number().nullable(),
  /** Of the attempt that is open, else of the next one: nothing happens at the vendor for it. */
  onlyReads: z.boolean(),
  /** Why what may have been taken is not sent again; null: nothing keeps it from that. */
  doubt: z.enum(SENDING_DOUBTS).nullable(),
  deadlineInMs: z.number().nullable(),
});

/** Subscription or connection, target and retry profile of a delivery as they are now. */
export const DispatchChain = z.discriminatedUnion('targetKind', [
  HttpChain,
  ActionChain,
  EventChain,
  WorkflowChain,
  OutboundChain,
]);
export type DispatchChain = z.infer<typeof DispatchChain>;
export type SendingChain = Extract<DispatchChain, { targetKind: 'outbound' }>;

/** What is of an attempt that was opened. */
export const Opening = z.object({
  attempt: z.number(),
  openedAt: z.string(),
  /** To the attempt's deadline, after which others may take it for lost. */
  endsInMs: z.number(),
  contentType: z.string().nullable(),
  keptHeaders: z.array(z.tuple([z.string(), z.string()])),
  /** Nothing of it can have reached a target before. */
  firstCall: z.boolean(),
});

/** These facts and the chain in one object: zod takes three times as long to put two results together. */
function withChain<Facts extends z.ZodRawShape>(facts: z.ZodObject<Facts>) {
  return z.discriminatedUnion('targetKind', [
    facts.extend(HttpChain.shape),
    facts.extend(ActionChain.shape),
    facts.extend(EventChain.shape),
    facts.extend(WorkflowChain.shape),
    facts.extend(OutboundChain.shape),
  ]);
}

export const OpenAttemptAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.literal('unknown_delivery') }),
  z.object({ answer: z.literal('settled'), info: DeliveryFacts }),
  z.object({
    answer: z.literal('in_flight'),
    info: withChain(
      DeliveryFacts.extend({
        attempt: z.number(),
        openedAt: z.string(),
        endsInMs: z.number(),
      }),
    ),
    /** What an action's request is built from, while there is no action of this series. */
    payload: z.instanceof(Uint8Array).nullable(),
  }),
  z.object({
    answer: z.literal('must_fail'),
    info: withChain(DeliveryFacts.extend({ reason: z.string() })),
  }),
  z.object({
    answer: z.literal('held'),
    info: withChain(
      DeliveryFacts.extend({
        /** Of a gate that a loop releases it from: when it looks again by itself all the same. */
        againInMs: z.number().nullable(),
      }),
    ),
  }),
  z.object({ answer: z.literal('not_due'), info: DeliveryFacts.extend({ dueInMs: z.number() }) }),
  z.object({
    answer: z.literal('opened'),
    info: withChain(DeliveryFacts.extend(Opening.shape)),
    payload: z.instanceof(Uint8Array),
  }),
]);
export type OpenAttemptAnswer = z.infer<typeof OpenAttemptAnswer>;
export type OpenedAttempt = Extract<OpenAttemptAnswer, { answer: 'opened' }>;

/** An action that a delivery has started, as far as the delivery needs to know it. */
export const DeliveryAction = z.object({
  actionId: z.string(),
  state: z.enum(ACTION_STATES),
  result: ActionResultRow.nullable(),
  reason: z.string().nullable(),
  detail: z.string().nullable(),
});
export type DeliveryAction = z.infer<typeof DeliveryAction>;

export const CloseAttemptAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.literal('closed') }),
  z.object({ answer: z.literal('fence_lost') }),
  z.object({ answer: z.literal('unknown_attempt') }),
  z.object({ answer: z.literal('chain_moved'), facts: DeliveryFacts }),
]);
export type CloseAttemptAnswer = z.infer<typeof CloseAttemptAnswer>;

export const FailDeliveryAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.literal('failed') }),
  z.object({ answer: z.literal('in_flight') }),
  z.object({ answer: z.literal('unknown_delivery') }),
  z.object({ answer: z.literal('not_live'), facts: DeliveryFacts }),
  z.object({ answer: z.literal('chain_moved'), facts: DeliveryFacts }),
]);
export type FailDeliveryAnswer = z.infer<typeof FailDeliveryAnswer>;

export const ReplayDeliveryAnswer = z.discriminatedUnion('answer', [
  z.object({ answer: z.literal('replayed'), series: z.number() }),
  z.object({ answer: z.literal('unknown_delivery') }),
  z.object({ answer: z.enum(['uncertain', 'approval_missing']) }),
  z.object({ answer: z.literal('already_replaying'), facts: DeliveryFacts }),
  z.object({ answer: z.literal('not_failed'), facts: DeliveryFacts }),
  z.object({ answer: z.literal('chain_moved'), facts: DeliveryFacts }),
]);
export type ReplayDeliveryAnswer = z.infer<typeof ReplayDeliveryAnswer>;

export const IngestAnswer = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.enum(['accepted', 'duplicate', 'conflict']),
    deliveryId: z.string(),
    firstDeliveryId: z.string(),
    receivedAt: z.string(),
    /** An accepted one of the express lane waits for the lane's loop, and else for its workflow. */
    lane: z.enum(LANES),
    /** The commit held something for that loop, and told it. */
    told: z.boolean(),
  }),
  z.object({ outcome: z.literal('stale'), deliveryId: z.string(), skewMs: z.number() }),
]);
export type IngestAnswer = z.infer<typeof IngestAnswer>;
export const IngestAnswers = z.array(IngestAnswer);

export const ReleasedAnswer = z.object({
  released: z.number(),
  tenantId: z.string(),
  gate: z.string(),
});
export type ReleasedAnswer = z.infer<typeof ReleasedAnswer>;

export const ForgottenCounts = z.object({
  rejectedPayloads: z.number(),
  dedupKeys: z.number(),
  idempotencyKeys: z.number(),
});

export const UnattendedDelivery = z.object({
  tenant_id: z.string(),
  delivery_id: z.string(),
  state: z.enum(DELIVERY_STATES),
  connector_id: z.string(),
  event_type: z.string(),
  subscription_id: z.string().nullable(),
  /** Its workflow sleeps until it is told. */
  wake: z.boolean(),
});
export type UnattendedDelivery = z.infer<typeof UnattendedDelivery>;

/** A secret of an ingress: its reference and the window in which it is valid. */
export const SecretWindow = z.object({
  id: z.string(),
  ref: z.string(),
  notBefore: z.string().nullable(),
  notAfter: z.string().nullable(),
});
export type SecretWindow = z.infer<typeof SecretWindow>;

export const IngressConfig = z.object({
  tenantId: z.string(),
  subscriptionId: z.string(),
  connectorId: z.string(),
  instanceId: z.string(),
  state: z.enum(['active', 'paused', 'deactivated']),
  eventTypes: z.array(z.string()),
  scheme: WebhookScheme.nullable(),
  secrets: z.array(SecretWindow),
  bodyLimitBytes: z.number(),
  /** The instance's settings, none of them secret. */
  config: z.record(z.string(), z.unknown()).nullable().default(null),
});
export type IngressConfig = z.infer<typeof IngressConfig>;
