/** Reading what was signed beside receipts and as receipts: one form, one way to refuse. */
import { compactVerify, decodeProtectedHeader, errors } from 'jose';
import type { createLocalJWKSet } from 'jose';
import type { z } from 'zod';
import { signatureAlgorithm } from '../keys';
import { decodeSignature } from '../webhooks/encodings';

export type KeyLookup = ReturnType<typeof createLocalJWKSet>;

export type SignedProblemCode =
  'malformed_receipt' | 'unknown_key' | 'bad_signature' | 'malformed_payload';

export interface SignedProblem {
  readonly code: SignedProblemCode;
  readonly detail: string;
}

export type Reading<Payload> =
  { readonly ok: true; readonly payload: Payload } | ({ readonly ok: false } & SignedProblem);

export interface SignedForm<Payload> {
  /** The `typ` of its header. */
  readonly type: string;
  readonly schema: z.ZodType<Payload>;
  /** For people. */
  readonly name: string;
}

/** The payload, if a known key has signed it and it has the known form. Never throws for any text. */
export async function readSigned<Payload>(
  jws: string,
  keys: KeyLookup,
  form: SignedForm<Payload>,
): Promise<Reading<Payload>> {
  const header = readHeader(jws);
  if (header?.typ !== form.type || header.alg !== signatureAlgorithm) {
    const detail = `not ${form.name} in compact JWS form`;
    return { ok: false, code: 'malformed_receipt', detail };
  }
  if (typeof header.kid !== 'string') {
    return { ok: false, code: 'unknown_key', detail: 'it names no key' };
  }
  try {
    const verified = await compactVerify(jws, keys, { algorithms: [signatureAlgorithm] });
    return readPayload(verified.payload, form.schema);
  } catch (error) {
    return { ok: false, ...verificationProblem(error, header.kid) };
  }
}

function verificationProblem(error: unknown, kid: string): SignedProblem {
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return { code: 'bad_signature', detail: 'the signature is not of what stands here' };
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return { code: 'unknown_key', detail: `no public key has the id ${kid}` };
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return { code: 'unknown_key', detail: `several public keys have the id ${kid}` };
  }
  return { code: 'malformed_receipt', detail: 'it or its key cannot be read' };
}

/** Null unless the text is three segments, each in its only spelling, with a readable header. */
function readHeader(jws: string) {
  const segments = jws.split('.', 4);
  const isCanonical = segments.every((segment) => decodeSignature('base64url', segment) !== null);
  if (segments.length !== 3 || !isCanonical) return null;
  try {
    return decodeProtectedHeader(jws);
  } catch {
    return null;
  }
}

function readPayload<Payload>(bytes: Uint8Array, schema: z.ZodType<Payload>): Reading<Payload> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const parsed = schema.safeParse(JSON.parse(text));
    if (parsed.success) return { ok: true, payload: parsed.data };
    const fields = parsed.error.issues.map((issue) => issue.path.join('.') || issue.message);
    return { ok: false, code: 'malformed_payload', detail: `wrong: ${fields.join(', ')}` };
  } catch {
    return { ok: false, code: 'malformed_payload', detail: 'the payload is not JSON' };
  }
}
