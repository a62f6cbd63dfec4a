/**
 * Runs test vectors: a vector passes when the check accepts exactly if it says so. Freshness is judged
 * by the scheme alone, its tolerance both ways; an ingress allows less ahead.
 */
import { createPublicKey } from 'node:crypto';
import { freshness, type Verified } from '../../domain/verification';
import { SignatureScheme, type WebhookScheme } from '../../schemas/webhook-schemes';
import type { Vector, VectorVendor } from '../../schemas/webhook-vectors';
import { compileScheme, isMessageScheme } from './compile';
import { compileSigner, type AnswerSigner } from './compile-handshakes';
import { signAnswer } from './handshakes';
import { seedKeyPair } from './public-keys';
import type { WebhookRequest } from './request';
import { secretProblem } from './secrets';
import { textAt } from './payload';
import { verify } from './verify';
import { requestOf } from './vector-requests';
import { viewOf } from './view';

export interface VectorCase {
  readonly vendor: string;
  readonly name: string;
  readonly expected: 'accepted' | 'refused';
  /** `unjudged`: the vector cannot be run as it is written. */
  readonly actual: 'accepted' | 'refused' | 'unjudged';
  /** Why it was not accepted; null where it was. */
  readonly reason: string | null;
}

/** Judges every vector of a vendor, in order. Never throws for what a file says. */
export async function runVectors(
  vendor: VectorVendor,
  shipped: Pick<ReadonlyMap<string, WebhookScheme>, 'get'>,
): Promise<VectorCase[]> {
  const cases: VectorCase[] = [];
  for (const vector of vendor.vectors) {
    const { actual, reason } = await judge(vector, findScheme(vendor, vector.scheme, shipped));
    const expected = vector.valid ? 'accepted' : 'refused';
    cases.push({ vendor: vendor.vendor, name: vector.name, expected, actual, reason });
  }
  return cases;
}

type Outcome = Pick<VectorCase, 'actual' | 'reason'>;
type Found = { readonly scheme: WebhookScheme } | Outcome;

const accepted: Outcome = { actual: 'accepted', reason: null };
const refused = (reason: string): Outcome => ({ actual: 'refused', reason });

/** The file's own scheme of that name, else the shipped one: `vendor`, or `vendor-name`. */
function findScheme(
  { vendor, schemes }: VectorVendor,
  name: string,
  shipped: Pick<ReadonlyMap<string, WebhookScheme>, 'get'>,
): Found {
  if (!Object.hasOwn(schemes, name)) {
    const known =
      shipped.get(`${vendor}-${name}`) ?? (name === 'default' ? shipped.get(vendor) : undefined);
    return known ? { scheme: known } : { actual: 'unjudged', reason: `there is no scheme ${name}` };
  }
  const parsed = SignatureScheme.safeParse(schemes[name]);
  if (parsed.success) return { scheme: parsed.data };
  const [issue] = parsed.error.issues;
  const keys = issue?.code === 'unrecognized_keys' ? issue.keys : [];
  const field = [...(issue?.path ?? []), ...keys].join('.');
  return refused(`invalid_scheme: ${field}: ${issue?.message ?? 'is not a scheme'}`);
}

async function judge(vector: Vector, found: Found): Promise<Outcome> {
  if ('actual' in found) return found;
  const { scheme } = found;
  const request = requestOf(vector);
  const secrets = keysOf(vector).map((value, index) => ({ id: String(index + 1), value }));
  if (secrets.length === 0)
    return { actual: 'unjudged', reason: 'the vector names no secret and no key' };
  if (scheme.signature.location === 'response') return judgeResponse(vector, scheme, request);
  const compiled = compileScheme(scheme);
  const problem = secrets
    .map(({ value }) => secretProblem(compiled, value))
    .find((one) => one !== null);
  if (problem) return refused(`unusable_secret: ${problem}`);
  const receivedAtMs = (vector.verify_at ?? 0) * 1000;
  const verdict = await verify(compiled, request, secrets, { receivedAtMs });
  if (!verdict.ok) return refused(verdict.reason);
  return isFresh(vector, scheme, verdict) ? accepted : refused('timestamp_out_of_window');
}

function isFresh(vector: Vector, scheme: WebhookScheme, verdict: Verified): boolean {
  const { signedAtMs } = verdict;
  if (vector.verify_at === undefined || signedAtMs === null) return true;
  const named = isMessageScheme(scheme) ? scheme.timestamp?.tolerance_s : undefined;
  const toleranceS = vector.tolerance_override_s ?? named;
  const bothWaysMs = (toleranceS ?? 0) * 1000;
  const limits =
    toleranceS === undefined || toleranceS === null
      ? verdict.limits
      : { behindMs: bothWaysMs, aheadMs: bothWaysMs };
  return freshness(signedAtMs, limits, vector.verify_at * 1000).fresh;
}

/** Of a scheme that says what must be answered: the answer is the expected one. */
function judgeResponse(vector: Vector, scheme: WebhookScheme, request: WebhookRequest): Outcome {
  const signer = signerOf(scheme);
  if (signer === null) return refused(`the kind ${scheme.kind} has no key that signs`);
  const secrets = keysOf(vector).map((value) => ({ id: 'secret', value }));
  const answer = signAnswer(signer, viewOf(request), secrets);
  if (!answer.ok) return refused(answer.detail);
  const wanted = expectedText(vector.expected_response, scheme.signature.name);
  return answer.text === wanted ? accepted : refused('response_mismatch');
}

function signerOf(scheme: WebhookScheme): AnswerSigner | null {
  const { kind } = scheme;
  const signs = kind === 'hmac' || kind === 'digest' || kind === 'ed25519-seed-from-secret';
  return signs ? compileSigner(scheme) : null;
}

/** The signature itself, or the field of that name of the whole answer. */
function expectedText(expected: Vector['expected_response'], name: string): string | null {
  if (expected === undefined) return null;
  if (typeof expected !== 'string') return textAt(expected, name);
  try {
    return textAt(JSON.parse(expected), name) ?? expected;
  } catch {
    return expected;
  }
}

function keysOf({ secret, public_key, jwk, private_key_seed }: Vector): string[] {
  if (secret !== undefined) return [secret].flat();
  if (public_key !== undefined) return [public_key];
  if (jwk !== undefined) return [JSON.stringify(jwk)];
  return private_key_seed === undefined ? [] : publicKeysOf(private_key_seed);
}

function publicKeysOf(seed: string): string[] {
  const key = seedKeyPair('hex', seed);
  return key === null
    ? []
    : [createPublicKey(key).export({ format: 'pem', type: 'spki' }).toString()];
}
