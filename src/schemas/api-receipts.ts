/** Receipts as the API shows them. */
import { z } from 'zod';
import { Answered } from './api-common';

export const ReceiptEntry = z.object({
  seq: z.int(),
  kind: z.string(),
  jws: z.string().describe('Compact JWS; verifies with the keys of /.well-known/jwks.json.'),
  digest: z.string(),
  previousDigest: z.string().nullable(),
  createdAt: Answered,
});
export type ReceiptEntry = z.infer<typeof ReceiptEntry>;

export const ChainParams = z.strictObject({
  about: z.enum(['delivery', 'action']).describe('What the chain is about.'),
  id: z.string().min(1).max(200).describe('The delivery id or the action id.'),
});

export const ReceiptChain = z
  .object({
    subject: z.string().describe('delivery/<id> or action/<id>.'),
    receipts: z.array(ReceiptEntry).describe('Oldest first; at most 1000.'),
  })
  .meta({ id: 'ReceiptChain' });
export type ReceiptChain = z.infer<typeof ReceiptChain>;
