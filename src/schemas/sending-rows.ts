/** What the functions of the database answer about sending, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { SIDE_EFFECTS } from '../domain/capabilities';
import { DELIVERY_STATES } from '../domain/delivery-states';
import { Connection, OutboundOperation } from './outbound';

/** A connection with one of its operations, as far as there is one. */
export const FoundConnection = Connection.omit({ instanceId: true }).extend({
  operation: OutboundOperation.nullable(),
  sideEffect: z.enum(SIDE_EFFECTS).nullable(),
  /** Names of all operations. */
  operations: z.array(z.string()),
  /** Why nothing may be sent through it; null: it may. */
  fault: z
    .enum([
      ...(['connector_other', 'instance_disabled', 'instance_revoked'] as const),
      ...([
        'connector_disabled',
        'version_not_active',
        'evidence_expired',
        'grant_missing',
      ] as const),
    ])
    .nullable(),
});
export type FoundConnection = z.infer<typeof FoundConnection>;

export const AcceptSendingAnswer = z.object({
  answer: z.enum(['accepted', 'existing', 'conflict']),
  deliveryId: z.string(),
});
export type AcceptSendingAnswer = z.infer<typeof AcceptSendingAnswer>;

export const CarriedApprovalRow = z.object({
  approvalId: z.string(),
  approver: z.string(),
  key: z.string(),
  expiresAt: z.string(),
});

/** What is recorded of the call by which something is sent. */
export const Sending = z.object({
  /** What a token's limits count it as: the capability of its action, else the operation. */
  capabilityId: z.string(),
  sideEffect: z.enum(SIDE_EFFECTS),
  requestedBy: z.string(),
  /** Lower-case hex SHA-256 of the request: what approvals are bound to. */
  requestDigest: z.string(),
  budget: z.object({ attempts: z.number().nullable(), deadlineMs: z.number().nullable() }),
  policyDecision: z
    .object({
      id: z.string(),
      outcome: z.enum(['allow', 'deny']),
      policy: z.string().nullable(),
    })
    .nullable(),
  /** Of the call, and of each replay that needed one. */
  approvals: z.array(CarriedApprovalRow),
});
export type Sending = z.infer<typeof Sending>;

export const SentRow = z.object({
  deliveryId: z.string(),
  connectorId: z.string(),
  instanceId: z.string(),
  operation: z.string(),
  idempotencyKey: z.string(),
  sending: Sending,
  state: z.enum(DELIVERY_STATES),
  attempts: z.number(),
  reason: z.string().nullable(),
  detail: z.string().nullable(),
  uncertain: z.boolean(),
  acceptedAt: z.string(),
  settledAt: z.string().nullable(),
  nextAttemptAt: z.string().nullable(),
  receipt: z.object({ ref: z.string(), jws: z.string() }).nullable(),
  status: z.number().nullable(),
  answerSha256: z.string().nullable(),
  answerHead: z.string().nullable(),
});
export type SentRow = z.infer<typeof SentRow>;
