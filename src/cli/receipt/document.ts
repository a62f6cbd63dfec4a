/**
 * A delivery's document, as `deliveries show --json` prints it, held against its own receipts: what
 * is signed decides, and what the document says beside it must say the same.
 */
import { z } from 'zod';
import { receiptDigest } from '../../signing/receipts/sign';

/** What is compared; everything else of the document is not signed, and not looked at. */
export const DeliveryDocument = z.object({
  deliveryId: z.string().optional(),
  state: z.string().optional(),
  payloadSha256: z.string().optional(),
  payloadBytes: z.number().optional(),
  eventType: z.string().optional(),
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
export type DeliveryDocument = z.infer<typeof DeliveryDocument>;

const Signed = z.object({
  seq: z.number(),
  prev: z.string().nullable(),
  kind: z.enum(['acknowledged', 'failed', 'replayed']),
  data: z.object({
    deliveryId: z.string(),
    payloadSha256: z.string(),
    payloadBytes: z.number(),
    eventType: z.string().nullable(),
  }),
});
type Signed = z.infer<typeof Signed>;

export interface DocumentProblem {
  readonly index: number;
  readonly code: 'document_mismatch';
  readonly detail: string;
}

/** In which states a delivery can be whose newest receipt is of this kind. */
const STATES: Readonly<Record<Signed['kind'], readonly string[]>> = {
  acknowledged: ['Acknowledged'],
  failed: ['Failed'],
  replayed: ['Replayed', 'Dispatched'],
};

/** Where the document and its receipts differ. The receipts' signatures are checked elsewhere. */
export function documentProblems(document: DeliveryDocument): DocumentProblem[] {
  const problems: DocumentProblem[] = [];
  const differs = (index: number, field: string): void => {
    const detail = `${field} of the document is not what the receipt says`;
    problems.push({ index, code: 'document_mismatch', detail });
  };
  for (const [index, entry] of document.receipts.entries()) {
    const signed = readSigned(entry.jws);
    if (signed === null) continue;
    const pairs: readonly [string, unknown, unknown][] = [
      ['digest', entry.digest, receiptDigest(entry.jws)],
      ['seq', entry.seq, signed.seq],
      ['kind', entry.kind, signed.kind],
      ['previousDigest', entry.previousDigest, signed.prev],
      ['deliveryId', document.deliveryId, signed.data.deliveryId],
      ['payloadSha256', document.payloadSha256, signed.data.payloadSha256],
      ['payloadBytes', document.payloadBytes, signed.data.payloadBytes],
      ['eventType', document.eventType, signed.data.eventType],
    ];
    for (const [field, said, proven] of pairs) {
      if (said !== undefined && said !== proven) differs(index, field);
    }
    const newest = index === document.receipts.length - 1;
    const { state } = document;
    if (newest && state !== undefined && !STATES[signed.kind].includes(state)) {
      differs(index, 'state');
    }
  }
  return problems;
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
