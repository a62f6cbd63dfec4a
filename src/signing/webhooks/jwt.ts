/**
 * A compact JWS as signature. Who signed it is the `jose` library's to say; what its claims say of
 * the request and of time is judged here. Its `exp`, `nbf` and `iat` become the signed instant and its
 * limits, so that the caller's clock decides as of receipt, as for every other kind.
 */
import { createHash, type KeyObject } from 'node:crypto';
import { compactVerify, errors } from 'jose';
import { z } from 'zod';
import { maxAheadMs, type FreshnessLimits, type Unverified } from '../../domain/verification';
import type { WebhookScheme } from '../../schemas/webhook-schemes';
import { decodeKey } from './encodings';
import { readJson, scalarText } from './payload';
import { readAnyPublicKey } from './public-keys';
import { refuse } from './refusals';
import type { RequestView } from './view';

export type JwtScheme = WebhookScheme & { kind: 'jwt' };
export type JwtKey = Uint8Array | KeyObject;

const Claims = z.record(z.string(), z.unknown());
export type Claims = z.infer<typeof Claims>;

/** The key of a secret's text: bytes for the symmetric algorithms, else a public key; null: none. */
export function readJwtKey(scheme: JwtScheme, text: string): JwtKey | null {
  const { key_encoding: encoding = 'utf8' } = scheme;
  if (scheme.algorithms.some((name) => name.startsWith('HS'))) {
    return symmetricJwk(text) ?? decodeKey(encoding, text);
  }
  const known = encoding === 'hex' || encoding === 'base64' || encoding === 'whpk';
  return readAnyPublicKey(text, known ? encoding : undefined);
}

function symmetricJwk(text: string): Uint8Array | null {
  if (!text.trimStart().startsWith('{')) return null;
  const jwk = z.object({ kty: z.literal('oct'), k: z.string() }).safeParse(parsed(text));
  return jwk.success
    ? decodeKey('base64', Buffer.from(jwk.data.k, 'base64url').toString('base64'))
    : null;
}

export type JwtRead = { readonly ok: true; readonly claims: Claims } | Unverified;

/** Whether this key signed the token, with an algorithm that the scheme lists. */
export async function verifyToken(
  token: Uint8Array,
  key: JwtKey,
  scheme: JwtScheme,
): Promise<JwtRead> {
  try {
    const { payload } = await compactVerify(token, key, { algorithms: [...scheme.algorithms] });
    const claims = Claims.safeParse(parsed(Buffer.from(payload).toString('utf8')));
    if (claims.success) return { ok: true, claims: claims.data };
    return refuse('malformed_signature', 'the token holds no claims');
  } catch (error) {
    if (error instanceof errors.JOSEAlgNotAllowed) {
      return refuse('algorithm_refused', "the token's algorithm is none of the scheme's");
    }
    if (error instanceof errors.JWSInvalid || error instanceof errors.JOSENotSupported) {
      return refuse('malformed_signature', 'the token is no signed token that can be read');
    }
    // A key of another type than the algorithm needs is a mismatch, too.
    return refuse('signature_mismatch', 'the token is not signed by an active secret');
  }
}

/**
 * A claim as text, numbers as written, of a token whose signature was judged before, or elsewhere; null
 * where there is none or it cannot be read.
 */
export function claimText(token: string, name: string): string | null {
  const claims = readJson(Buffer.from(token.split('.')[1] ?? '', 'base64url')).value;
  if (typeof claims !== 'object' || claims === null || !Object.hasOwn(claims, name)) return null;
  return scalarText((claims as Claims)[name]);
}

/** What the claims say of this request: null, or why they are about another one. */
export function claimProblem(
  scheme: JwtScheme,
  claims: Claims,
  { request }: RequestView,
): Unverified | null {
  const { url_hash_claim, body_hash_claim, body_hash_required = false } = scheme;
  const url = url_hash_claim === undefined ? undefined : claims[url_hash_claim];
  if (url !== undefined && url !== sha256(Buffer.from(request.url, 'utf8'))) {
    return refuse('claim_mismatch', `claim ${url_hash_claim ?? ''} is of another URL`);
  }
  if (body_hash_claim === undefined) return null;
  const body = claims[body_hash_claim];
  if (body === undefined) {
    const signed = !body_hash_required && request.body.length === 0;
    return signed ? null : refuse('claim_mismatch', `claim ${body_hash_claim} is missing`);
  }
  const same = body === sha256(request.body);
  return same ? null : refuse('claim_mismatch', `claim ${body_hash_claim} is of another body`);
}

export interface JwtTimes {
  readonly ok: true;
  readonly signedAtMs: number | null;
  readonly limits: FreshnessLimits | null;
}

const NumericDate = z.number().min(-8.64e12).max(8.64e12).optional();
const Times = z.object({ iat: NumericDate, nbf: NumericDate, exp: NumericDate });

/**
 * When the token counts: from `nbf` until before `exp`, each with the scheme's leeway, and no longer
 * after `iat` than the scheme's tolerance allows, nor more than a minute before it.
 */
export function timesOf(scheme: JwtScheme, claims: Claims): JwtTimes | Unverified {
  const times = Times.safeParse(claims);
  if (!times.success) return refuse('malformed_timestamp', 'exp, nbf or iat is no time in seconds');
  const { iat, nbf, exp } = times.data;
  const { leeway_s = 0, iat_tolerance_s } = scheme;
  if (iat_tolerance_s !== undefined && iat === undefined) {
    return refuse('missing_timestamp', 'claim iat is missing');
  }
  const signedAtS = iat ?? nbf ?? exp;
  if (signedAtS === undefined) return { ok: true, signedAtMs: null, limits: null };
  const signedAtMs = Math.floor(signedAtS * 1000);
  // An expired token is refused in the very second that exp names.
  const until = exp === undefined ? [] : [Math.ceil((exp + leeway_s) * 1000) - 1];
  const from = nbf === undefined ? [] : [Math.floor((nbf - leeway_s) * 1000)];
  if (iat_tolerance_s !== undefined) {
    until.push(signedAtMs + iat_tolerance_s * 1000);
    from.push(signedAtMs - Math.min(iat_tolerance_s * 1000, maxAheadMs));
  }
  if (until.length === 0 && from.length === 0) return { ok: true, signedAtMs, limits: null };
  const behindMs = Math.min(...until, Number.MAX_SAFE_INTEGER) - signedAtMs;
  const aheadMs = signedAtMs - Math.max(...from, -Number.MAX_SAFE_INTEGER);
  return {
    ok: true,
    signedAtMs,
    limits: { behindMs: bounded(behindMs), aheadMs: bounded(aheadMs) },
  };
}

function bounded(ms: number): number {
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(ms, Number.MAX_SAFE_INTEGER));
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
