import { createHash } from 'node:crypto';
import { CompactSign } from 'jose';
import type { ReceiptPayload } from '../../domain/receipts';
import { signatureAlgorithm, type SigningKey } from '../keys';
import { ReceiptPayloadSchema } from './payload-schema';

/** Keeps a receipt apart from other tokens that the same key signs. */
export const receiptType = 'waybill-receipt';

/**
 * Signs one receipt as a compact JWS (EdDSA, with `kid` and `typ`). Throws for a payload that a
 * verifier would refuse, so that no chain is broken from the start.
 */
export async function signReceipt(payload: ReceiptPayload, key: SigningKey): Promise<string> {
  const checked = ReceiptPayloadSchema.parse(payload);
  return await new CompactSign(Buffer.from(JSON.stringify(checked), 'utf8'))
    .setProtectedHeader({ alg: signatureAlgorithm, kid: key.kid, typ: receiptType })
    .sign(key.privateKey);
}

/** SHA-256 (hex) of a receipt's compact JWS: the next receipt names it as `prev`. */
export function receiptDigest(jws: string): string {
  return createHash('sha256').update(jws, 'utf8').digest('hex');
}
