/** What the database answers to the steps of an action, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { CANCEL_DECISIONS } from '../domain/action-service';
import { ACTION_STATES } from '../domain/action-states';
import { RECOVERIES, SIDE_EFFECTS } from '../domain/capabilities';
import { deliveryId } from '../domain/ids';
import { ACTION_RECEIPTS, type WantedActionReceipt } from '../domain/receipts';
import { SETTLEMENTS } from '../domain/routes';
import { ActionResultRow, RouteRow } from './route-rows';

/** What is known of an action, and what somebody wants of it. */
export const ActionPosition = z.object({
  capabilityId: z.string(),
  state: z.enum(ACTION_STATES),
  requestDigest: z.string(),
  result: ActionResultRow.nullable(),
  reason: z.string().nullable(),
  detail: z.string().nullable(),
  deadlineInMs: z.int(),
  retryBudget: z.int(),
  budgetFrom: z.int(),
  affinityKey: z.string().nullable(),
  /** A request was sent and what became of it is not known. */
  uncertain: z.boolean(),
  /** Uncertain, and doing it again is safe and finds out. */
  repeatable: z.boolean(),
  cancelRequestedBy: z.string().nullable(),
  deliveryId: z.string().transform(deliveryId).nullable(),
});
export type ActionPosition = z.infer<typeof ActionPosition>;

/** With its newest attempt; null: it has none. */
export const ReadAction = ActionPosition.extend({
  connectorId: z.string().nullable(),
  attempt: z
    .object({
      attemptNo: z.int(),
      fence: z.int(),
      open: z.boolean(),
      settlement: z.enum(SETTLEMENTS).nullable(),
    })
    .nullable(),
});
export type ReadAction = z.infer<typeof ReadAction>;

/** What the next receipt is signed over. */
const ReceiptFacts = z.object({
  capabilityId: z.string(),
  requestSha256: z.string(),
  result: ActionResultRow.nullable(),
  approval: z.string().nullable(),
  receiptSeq: z.int(),
  receiptDigest: z.string().nullable(),
  now: z.string(),
});
export type ReceiptFacts = z.infer<typeof ReceiptFacts>;

/** Nothing was written: the step is to be made with this receipt. */
export const SignAnswer = z.object({
  kind: z.literal('sign'),
  wanted: ReceiptFacts.extend({
    kind: z.enum(ACTION_RECEIPTS),
  }) satisfies z.ZodType<WantedActionReceipt>,
});

export const BeginDispatchAnswer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('send'),
    route: RouteRow,
    attemptNo: z.int(),
    incarnation: z.int(),
    storeEpoch: z.string().nullable(),
    uncertain: z.boolean(),
    /** A person is certain that what was begun had no effect. */
    beginAnew: z.boolean(),
    approval: z.string().nullable(),
    /** Milliseconds since the epoch on the database's clock: the token expires with it. */
    deadlineAtMs: z.int(),
    deadlineInMs: z.int(),
    timeoutMs: z.int(),
    receipts: ReceiptFacts,
  }),
  z.object({
    kind: z.literal('not_sendable'),
    attemptNo: z.int(),
    why: z.enum([
      ...(['cancelled', 'deadline', 'recovering', 'revoked'] as const),
      ...(['registered_again', 'not_ready'] as const),
    ]),
  }),
  z.object({ kind: z.literal('fence_lost') }),
]);
export type BeginDispatchAnswer = z.infer<typeof BeginDispatchAnswer>;
export type Sendable = Extract<BeginDispatchAnswer, { kind: 'send' }>;
export type NotSendable = Extract<BeginDispatchAnswer, { kind: 'not_sendable' }>;

export const CloseDispatchAnswer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.enum(['closed', 'settled', 'already_settled', 'fence_lost']),
    action: ActionPosition,
  }),
  z.object({ kind: z.literal('unknown_route') }),
]);
export type CloseDispatchAnswer = z.infer<typeof CloseDispatchAnswer>;

export const BeginFencingAnswer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('ask'),
    purpose: z.enum(['reconcile', 'cancel']),
    route: RouteRow,
    fence: z.int(),
    incarnation: z.int(),
    storeEpoch: z.string().nullable(),
    /** The database's clock, in milliseconds since the epoch. */
    nowMs: z.int(),
    sentAgoMs: z.int(),
    actionDeadlineInMs: z.int(),
    timeoutMs: z.int(),
    recovery: z.enum(RECOVERIES),
    sideEffect: z.enum(SIDE_EFFECTS),
    approval: z.string().nullable(),
    receipts: ReceiptFacts,
  }),
  z.object({ kind: z.enum(['closed', 'clear', 'not_fencing']), action: ActionPosition }),
]);
export type BeginFencingAnswer = z.infer<typeof BeginFencingAnswer>;
export type Askable = Extract<BeginFencingAnswer, { kind: 'ask' }>;

export const ConcludeFencingAnswer = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['concluded', 'fence_lost']), action: ActionPosition }),
  z.object({ kind: z.literal('unknown_route') }),
]);
export type ConcludeFencingAnswer = z.infer<typeof ConcludeFencingAnswer>;

export const GiveUpAnswer = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('looked'), action: ActionPosition }),
  z.object({ kind: z.literal('unknown_action') }),
]);

export const RequestCancelAnswer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.enum(CANCEL_DECISIONS),
    action: ActionPosition,
  }),
  z.object({ kind: z.literal('unknown_action') }),
]);

export const ResolveActionAnswer = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['resolved', 'not_waiting']), action: ActionPosition }),
  z.object({ kind: z.literal('unknown_action') }),
]);

export const UnattendedAction = z.object({
  tenant_id: z.string(),
  action_id: z.string(),
  capability_id: z.string(),
  request_digest: z.string(),
  affinity_key: z.string().nullable(),
  news: z.boolean(),
});
export type UnattendedAction = z.infer<typeof UnattendedAction>;
