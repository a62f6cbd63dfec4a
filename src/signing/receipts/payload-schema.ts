import { z } from 'zod';
import type { ReceiptPayload } from '../../domain/receipts';

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
  subject: z.templateLiteral(['delivery/', z.string().min(1)]),
  seq: z.int().positive(),
  prev: Sha256.nullable(),
  at: z.iso.datetime({ offset: true }),
};

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

/** The payload of a receipt, strict: a version that knows more fields has another `v`. */
export const ReceiptPayloadSchema: z.ZodType<ReceiptPayload> = z.discriminatedUnion('kind', [
  z.strictObject({ ...envelope, kind: z.literal('acknowledged'), data: AcknowledgedData }),
  z.strictObject({ ...envelope, kind: z.literal('failed'), data: FailedData }),
  z.strictObject({ ...envelope, kind: z.literal('replayed'), data: ReplayedData }),
]);
