/**
 * Checks a chain of receipts offline, with the public keys alone (docs/architecture, "Receipts"). A
 * chain that was cut at its end is still a chain: to show that will need a checkpoint over closed
 * chains.
 */
import { compactVerify, createLocalJWKSet, decodeProtectedHeader, errors } from 'jose';
import type { JSONWebKeySet } from 'jose';
import type { ReceiptPayload } from '../../domain/receipts';
import { signatureAlgorithm } from '../keys';
import { decodeSignature } from '../webhooks/encodings';
import { ReceiptPayloadSchema } from './payload-schema';
import { receiptDigest, receiptType } from './sign';

export type ReceiptProblemCode =
  | 'empty_chain'
  | 'malformed_receipt'
  | 'unknown_key'
  | 'bad_signature'
  | 'malformed_payload'
  | 'sequence_gap'
  | 'previous_mismatch'
  | 'other_tenant'
  | 'other_subject';

export interface ReceiptProblem {
  /** Position in the given list, from 0. */
  readonly index: number;
  readonly code: ReceiptProblemCode;
  readonly detail: string;
}

export interface ChainVerdict {
  readonly ok: boolean;
  readonly problems: readonly ReceiptProblem[];
}

type Reading =
  | { readonly ok: true; readonly payload: ReceiptPayload }
  | { readonly ok: false; readonly code: ReceiptProblemCode; readonly detail: string };

/**
 * Every receipt has a known key, a good signature and a payload of the known form; the sequence runs
 * from 1 without a gap; each names the digest of the one before; all are of one tenant and subject.
 * Each fault is named with its position; what follows a gap is judged from there. Never throws for
 * any text among the receipts; throws where the key set itself is none.
 *
 * @param receipts compact JWS, oldest first
 */
export async function verifyReceiptChain(
  receipts: readonly string[],
  jwks: JSONWebKeySet,
): Promise<ChainVerdict> {
  const problems: ReceiptProblem[] = [];
  if (receipts.length === 0) {
    problems.push({ index: 0, code: 'empty_chain', detail: 'there is no receipt' });
  }
  const keys = createLocalJWKSet(jwks);
  let first: ReceiptPayload | undefined;
  let expectedSeq = 1;
  for (const [index, jws] of receipts.entries()) {
    const reading = await readReceipt(jws, keys);
    if (!reading.ok) {
      problems.push({ index, code: reading.code, detail: reading.detail });
      expectedSeq += 1;
      continue;
    }
    const previous = receipts[index - 1];
    first ??= reading.payload;
    const link = {
      first,
      expectedSeq,
      prev: previous === undefined ? null : receiptDigest(previous),
    };
    problems.push(...linkProblems(reading.payload, link).map((problem) => ({ index, ...problem })));
    expectedSeq = reading.payload.seq + 1;
  }
  return { ok: problems.length === 0, problems };
}

async function readReceipt(
  jws: string,
  keys: ReturnType<typeof createLocalJWKSet>,
): Promise<Reading> {
  const header = readHeader(jws);
  if (header?.typ !== receiptType || header.alg !== signatureAlgorithm) {
    return { ok: false, code: 'malformed_receipt', detail: 'not a receipt in compact JWS form' };
  }
  if (typeof header.kid !== 'string') {
    return { ok: false, code: 'unknown_key', detail: 'the receipt names no key' };
  }
  try {
    const verified = await compactVerify(jws, keys, { algorithms: [signatureAlgorithm] });
    return readPayload(verified.payload);
  } catch (error) {
    return { ok: false, ...verificationProblem(error, header.kid) };
  }
}

function verificationProblem(error: unknown, kid: string): Omit<ReceiptProblem, 'index'> {
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return { code: 'bad_signature', detail: 'the signature is not of this receipt' };
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return { code: 'unknown_key', detail: `no public key has the id ${kid}` };
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return { code: 'unknown_key', detail: `several public keys have the id ${kid}` };
  }
  return { code: 'malformed_receipt', detail: 'the receipt or its key cannot be read' };
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

function readPayload(bytes: Uint8Array): Reading {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const parsed = ReceiptPayloadSchema.safeParse(JSON.parse(text));
    if (parsed.success) return { ok: true, payload: parsed.data };
    const fields = parsed.error.issues.map((issue) => issue.path.join('.') || issue.message);
    return { ok: false, code: 'malformed_payload', detail: `wrong: ${fields.join(', ')}` };
  } catch {
    return { ok: false, code: 'malformed_payload', detail: 'the payload is not JSON' };
  }
}

interface Link {
  readonly first: ReceiptPayload;
  readonly expectedSeq: number;
  readonly prev: string | null;
}

function linkProblems(payload: ReceiptPayload, link: Link): Omit<ReceiptProblem, 'index'>[] {
  const problems: Omit<ReceiptProblem, 'index'>[] = [];
  if (payload.seq !== link.expectedSeq) {
    const detail = `sequence ${payload.seq} where ${link.expectedSeq} was expected`;
    problems.push({ code: 'sequence_gap', detail });
  }
  if (payload.prev !== link.prev) {
    const detail = 'does not name the receipt before it';
    problems.push({ code: 'previous_mismatch', detail });
  }
  if (payload.tenant !== link.first.tenant) {
    problems.push({ code: 'other_tenant', detail: `belongs to tenant ${payload.tenant}` });
  }
  if (payload.subject !== link.first.subject) {
    problems.push({ code: 'other_subject', detail: `belongs to ${payload.subject}` });
  }
  return problems;
}
