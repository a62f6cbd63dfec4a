/**
 * Checks a chain of receipts offline, with the public keys alone (docs/architecture, "Receipts"). A
 * chain that was cut at its end is still a chain: that it ends too early shows by an export alone
 * (docs/architecture, "Checkpoints").
 */
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { ReceiptPayload } from '../../domain/receipts';
import { ReceiptPayloadSchema } from './payload-schema';
import { readSigned, type KeyLookup, type SignedForm, type SignedProblemCode } from './read-signed';
import { receiptDigest, receiptType } from './sign';

export type ReceiptProblemCode =
  | SignedProblemCode
  | 'empty_chain'
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

/** Whose chain it must be; null: all of its receipts must be of one, whichever that is. */
export type ChainOwner = Pick<ReceiptPayload, 'tenant'> & { readonly subject: string };

const RECEIPT: SignedForm<ReceiptPayload> = {
  type: receiptType,
  schema: ReceiptPayloadSchema,
  name: 'a receipt',
};

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
  const problems = await chainProblems(receipts, createLocalJWKSet(jwks), null);
  return { ok: problems.length === 0, problems };
}

/** What is wrong with a chain; see `verifyReceiptChain`. */
export async function chainProblems(
  receipts: readonly string[],
  keys: KeyLookup,
  owner: ChainOwner | null,
): Promise<ReceiptProblem[]> {
  const problems: ReceiptProblem[] = [];
  if (receipts.length === 0) {
    problems.push({ index: 0, code: 'empty_chain', detail: 'there is no receipt' });
  }
  let first = owner;
  let expectedSeq = 1;
  for (const [index, jws] of receipts.entries()) {
    const reading = await readSigned(jws, keys, RECEIPT);
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
  return problems;
}

interface Link {
  readonly first: ChainOwner;
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
