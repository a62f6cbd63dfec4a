/**
 * A delivery's or an action's document, as `deliveries show --json` and `actions show --json` print it, held
 * against its own receipts: what is signed decides, and what the document says beside it must say the same.
 */
import { z } from 'zod';
import { ACTION_RECEIPTS } from '../../domain/receipts';
import { receiptDigest } from '../../signing/receipts/sign';

/** What is compared; everything else of the document is not signed, and not looked at. */
export const ReceiptDocument = z.object({
  deliveryId: z.string().nullable().optional(),
  actionId: z.string().optional(),
  capabilityId: z.string().optional(),
  requestDigest: z.string().optional(),
  result: z
    .object({ errorCode: z.string().nullable(), resultSha256: z.string().nullable() })
    .nullable()
    .optional(),
  state: z.string().optional(),
  payloadSha256: z.string().optional(),
  payloadBytes: z.number().optional(),
  eventType: z.string().optional(),
  direction: z.string().optional(),
  connectorId: z.string().optional(),
  subscriptionId: z.string().nullable().optional(),
  externalId: z.string().nullable().optional(),
  attemptHistory: z
    .array(
      z.object({
        attempt: z.number(),
        targetId: z.string(),
        status: z.number().nullable(),
        answerSha256: z.string().nullable(),
      }),
    )
    .optional(),
  replays: z
    .array(z.object({ series: z.number(), replayedBy: z.string(), reason: z.string() }))
    .optional(),
  receipts: z.array(
    z.object({
      jws: z.string(),
      seq: z.number().optional(),
      kind: z.string().optional(),
      digest: z.string().optional(),
      previousDigest: z.string().nullable().optional(),
    }),
  ),
});
export type ReceiptDocument = z.infer<typeof ReceiptDocument>;

const common = { seq: z.number(), prev: z.string().nullable() };

const DeliveryData = z.object({
  deliveryId: z.string(),
  payloadSha256: z.string(),
  payloadBytes: z.number(),
  eventType: z.string().nullable(),
  direction: z.string(),
  connectorId: z.string(),
  subscriptionId: z.string().nullable(),
  externalId: z.string(),
  // Of `acknowledged`.
  attempt: z.number().optional(),
  targetId: z.string().nullable().optional(),
  status: z.number().nullable().optional(),
  answerSha256: z.string().nullable().optional(),
  // Of `replayed`.
  series: z.number().optional(),
  replayedBy: z.string().optional(),
  reason: z.string().optional(),
});
type DeliveryData = z.infer<typeof DeliveryData>;

const Signed = z.union([
  z.object({
    ...common,
    kind: z.enum(['acknowledged', 'failed', 'replayed']),
    data: DeliveryData,
  }),
  z.object({
    ...common,
    kind: z.enum(ACTION_RECEIPTS),
    data: z.object({
      actionId: z.string(),
      capabilityId: z.string(),
      requestSha256: z.string(),
      errorCode: z.string().nullable(),
      resultSha256: z.string().nullable(),
    }),
  }),
]);
type Signed = z.infer<typeof Signed>;

export interface DocumentProblem {
  readonly index: number;
  readonly code: 'document_mismatch';
  readonly detail: string;
}

/** In which states the subject can be whose newest receipt is of this kind; absent: in any that is open. */
const STATES: Partial<Record<Signed['kind'], readonly string[]>> = {
  acknowledged: ['Acknowledged'],
  failed: ['Failed'],
  replayed: ['Replayed', 'Dispatched'],
  action_completed: ['completed'],
  action_failed: ['failed'],
  action_cancelled: ['cancelled'],
};
const CLOSED = ['completed', 'failed', 'cancelled'];

/** Where the document and its receipts differ. The receipts' signatures are checked elsewhere. */
export function documentProblems(document: ReceiptDocument): DocumentProblem[] {
  const problems: DocumentProblem[] = [];
  for (const [index, entry] of document.receipts.entries()) {
    const signed = readSigned(entry.jws);
    if (signed === null) continue;
    const newest = index === document.receipts.length - 1;
    const pairs: readonly Pair[] = [
      ['digest', entry.digest, receiptDigest(entry.jws)],
      ['seq', entry.seq, signed.seq],
      ['kind', entry.kind, signed.kind],
      ['previousDigest', entry.previousDigest, signed.prev],
      ...subjectPairs(document, signed, newest),
    ];
    const differing = pairs.filter(([, said, proven]) => said !== undefined && said !== proven);
    const fields = differing.map(([field]) => field);
    if (newest && !stateFits(document.state, signed.kind)) fields.push('state');
    for (const field of fields) {
      const detail = `${field} of the document is not what the receipt says`;
      problems.push({ index, code: 'document_mismatch', detail });
    }
  }
  return problems;
}

type Pair = readonly [field: string, said: unknown, proven: unknown];

function subjectPairs(document: ReceiptDocument, signed: Signed, newest: boolean): Pair[] {
  const { data } = signed;
  if ('deliveryId' in data) return deliveryPairs(document, data);
  const closes = newest && STATES[signed.kind] !== undefined;
  return [
    ['actionId', document.actionId, data.actionId],
    ['capabilityId', document.capabilityId, data.capabilityId],
    ['requestDigest', document.requestDigest, data.requestSha256],
    ...(closes
      ? ([
          ['errorCode', document.result?.errorCode, data.errorCode],
          ['resultSha256', document.result?.resultSha256, data.resultSha256],
        ] as const)
      : []),
  ];
}

function deliveryPairs(document: ReceiptDocument, data: DeliveryData): Pair[] {
  const { externalId, payloadSha256 } = document;
  const attempt = document.attemptHistory?.find((one) => one.attempt === data.attempt);
  const replay = document.replays?.find((one) => one.series === data.series);
  return [
    ['deliveryId', document.deliveryId, data.deliveryId],
    ['direction', document.direction, data.direction],
    ['connectorId', document.connectorId, data.connectorId],
    ['subscriptionId', document.subscriptionId, data.subscriptionId],
    // One without an id of its own is told apart by its bytes.
    ['externalId', externalId === null ? payloadSha256 : externalId, data.externalId],
    ['payloadSha256', payloadSha256, data.payloadSha256],
    ['payloadBytes', document.payloadBytes, data.payloadBytes],
    ['eventType', document.eventType, data.eventType],
    ['targetId of the attempt', attempt?.targetId, data.targetId],
    ['status of the attempt', attempt?.status, data.status],
    ['answerSha256 of the attempt', attempt?.answerSha256, data.answerSha256],
    ['replayedBy', replay?.replayedBy, data.replayedBy],
    ['reason of the replay', replay?.reason, data.reason],
  ];
}

function stateFits(state: string | undefined, newest: Signed['kind']): boolean {
  if (state === undefined) return true;
  return STATES[newest]?.includes(state) ?? !CLOSED.includes(state);
}

/** The payload of a compact JWS; null for what is none, which the chain's own check names. */
function readSigned(jws: string): Signed | null {
  try {
    const payload = Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString('utf8');
    return Signed.parse(JSON.parse(payload));
  } catch {
    return null;
  }
}
