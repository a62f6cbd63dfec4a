/**
 * Receipts that come ready-made: rows as large as the product's, over texts that nobody here reads.
 * Signing them is the worker's work, which P13 measures.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Receipting } from '../../src/db/receipted';
import type { ReceiptRow, SignActionReceipt, WantedActionReceipt } from '../../src/domain/receipts';

/** As long as a compact JWS of a closed action. */
const JWS_BYTES = 1_000;

function receiptOver({ kind, receiptSeq, receiptDigest }: WantedActionReceipt): ReceiptRow {
  const jws = randomUUID().padEnd(JWS_BYTES, '.');
  const digest = createHash('sha256').update(jws).digest('hex');
  return { kind, seq: receiptSeq + 1, previousDigest: receiptDigest, jws, digest };
}

export const readySigner: SignActionReceipt = (wanted) => Promise.resolve(receiptOver(wanted));

/** What a worker expects of an action that completes at its first attempt: nothing was written yet. */
const FIRST: WantedActionReceipt = {
  ...{ kind: 'action_completed', capabilityId: '', requestSha256: '', result: null },
  ...{ approval: null, receiptSeq: 0, receiptDigest: null, now: '' },
};

/** Expected by the caller, so that nothing is asked for first. */
export const firstReceipt: Receipting = { expected: FIRST, sign: readySigner };

/** Asked for by the database, whatever was written before. */
export const anyReceipt: Receipting = { expected: null, sign: readySigner };

/** The first one as the statement takes it. */
export function firstReceiptText(): string {
  return JSON.stringify(receiptOver(FIRST));
}
