/** Signatures that we make ourselves: by the kinds whose secret signs as well as verifies. */
import { z } from 'zod';
import { HashName, KeyEncoding, SignatureField } from './fields';

export const Message = z.string().min(1).max(1000);

export const hmac = {
  kind: z.literal('hmac'),
  hash: HashName,
  key_encoding: KeyEncoding.exclude(['whpk']).optional(),
};
export const digest = { kind: z.literal('digest'), hash: HashName };
export const seeded = {
  kind: z.literal('ed25519-seed-from-secret'),
  key_encoding: z.enum(['utf8', 'hex', 'base64']).optional(),
};

const response = { message: Message, signature: SignatureField };

export const AnswerSignature = z.discriminatedUnion('kind', [
  z.strictObject({ ...hmac, ...response }),
  z.strictObject({ ...digest, ...response }),
  z.strictObject({ ...seeded, ...response }),
]);
export type AnswerSignature = z.infer<typeof AnswerSignature>;
