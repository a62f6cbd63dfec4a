import { z } from 'zod';
import { ACTION_RECEIPTS, type ReceiptPayload } from '../../domain/receipts';
import { SETTLEMENTS } from '../../domain/routes';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Count = z.int().nonnegative();

const common = {
  deliveryId: z.string(),
  direction: z.enum(['inbound', 'outbound']),
  connectorId: z.string(),
  subscriptionId: z.string().nullable(),
  payloadSha256: Sha256,
  payloadBytes: Count,
  externalId: z.string(),
  eventType: z.string().nullable(),
};

const envelope = {
  iss: z.literal('waybill'),
  v: z.literal(1),
  tenant: z.string(),
  seq: z.int().positive(),
  prev: Sha256.nullable(),
  at: z.iso.datetime({ offset: true }),
};

const delivery = { ...envelope, subject: z.templateLiteral(['delivery/', z.string().min(1)]) };

const AcknowledgedData = z.strictObject({
  ...common,
  attempt: Count,
  fence: Count,
  targetId: z.string().nullable(),
  targetKind: z.string(),
  status: z.int().nullable(),
  answerSha256: Sha256.nullable(),
  startedAt: z.iso.datetime({ offset: true }),
  durationMs: z.number().nonnegative(),
});
const FailedData = z.strictObject({
  ...common,
  attempts: Count,
  reason: z.string(),
  lastStatus: z.int().nullable(),
});
const ReplayedData = z.strictObject({
  ...common,
  replayedBy: z.string(),
  reason: z.string(),
  series: Count,
});

const ActionData = z.strictObject({
  actionId: z.string(),
  capabilityId: z.string(),
  requestSha256: Sha256,
  attempt: Count.nullable(),
  fence: Count.nullable(),
  replicaId: z.string().nullable(),
  settlement: z.enum(SETTLEMENTS).nullable(),
  finding: z.enum(['not_started', 'repeatable', 'needs_operator']).nullable(),
  errorCode: z.string().nullable(),
  resultSha256: Sha256.nullable(),
  by: z.string().nullable(),
  reason: z.string().nullable(),
  approval: z.string().nullable(),
});

/** The payload of a receipt, strict: a version that knows more fields has another `v`. */
export const ReceiptPayloadSchema: z.ZodType<ReceiptPayload> = z.discriminatedUnion('kind', [
  z.strictObject({ ...delivery, kind: z.literal('acknowledged'), data: AcknowledgedData }),
  z.strictObject({ ...delivery, kind: z.literal('failed'), data: FailedData }),
  z.strictObject({ ...delivery, kind: z.literal('replayed'), data: ReplayedData }),
  z.strictObject({
    ...envelope,
    subject: z.templateLiteral(['action/', z.string().min(1)]),
    kind: z.enum(ACTION_RECEIPTS),
    data: ActionData,
  }),
]);
