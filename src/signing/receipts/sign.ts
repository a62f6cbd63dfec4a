import { hash } from 'node:crypto';
import type { ReceiptPayload } from '../../domain/receipts';
import { signCompact } from '../compact-jws';
import type { SigningKey } from '../keys';
import { ReceiptPayloadSchema } from './payload-schema';

/** Keeps a receipt apart from other tokens that the same key signs. */
export const receiptType = 'waybill-receipt';

/**
 * Signs one receipt as a compact JWS (EdDSA, with `kid` and `typ`). Throws for a payload that a
 * verifier would refuse, so that no chain is broken from the start.
 */
export function signReceipt(payload: ReceiptPayload, key: SigningKey): string {
  return signCompact(ReceiptPayloadSchema.parse(payload), receiptType, key);
}

/** SHA-256 (hex) of a receipt's compact JWS: the next receipt names it as `prev`. */
export function receiptDigest(jws: string): string {
  return hash('sha256', jws, 'hex');
}
