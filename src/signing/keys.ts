/** Ed25519 keys as JWK files. The key id is the RFC 7638 thumbprint, so it can never be wrong. */
import { createPrivateKey, sign } from 'node:crypto';
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type CryptoKey,
  type JSONWebKeySet,
} from 'jose';

/** The signature algorithm of receipts and tokens; no other is ever accepted. */
export const signatureAlgorithm = 'EdDSA';

export interface PublicJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  /** The public key, base64url. */
  readonly x: string;
  readonly kid: string;
  readonly alg: typeof signatureAlgorithm;
  readonly use: 'sig';
}

/** A key that can sign. It shows no secret when it is printed or serialised. */
export interface SigningKey {
  readonly kid: string;
  /** Not extractable. */
  readonly privateKey: CryptoKey;
  /** Its signature over bytes, at once and in this thread. */
  readonly signature: (bytes: Uint8Array) => Buffer;
  readonly publicJwk: PublicJwk;
}

/** A new key pair as the JSON text of a private JWK, for a key file that only its owner can read. */
export async function generateKeyText(): Promise<string> {
  const pair = await generateKeyPair(signatureAlgorithm, { crv: 'Ed25519', extractable: true });
  const { x, d } = await exportJWK(pair.privateKey);
  const publicJwk = await publicJwkOf(x);
  return `${JSON.stringify({ ...publicJwk, d }, null, 2)}\n`;
}

/**
 * Reads a private JWK. Throws where the text is no Ed25519 private key, where its public half belongs
 * to another key, or where a `kid` is given that is not its thumbprint; never quotes the text.
 */
export async function importSigningKey(jwkText: string): Promise<SigningKey> {
  const { kty, crv, x, d, kid } = parseJwk(jwkText);
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || typeof d !== 'string') {
    throw new Error('the signing key is not an Ed25519 private key in JWK form');
  }
  const publicJwk = await publicJwkOf(x);
  if (kid !== undefined && kid !== publicJwk.kid) {
    throw new Error('the kid of the signing key is not its RFC 7638 thumbprint');
  }
  const privateKey = await importPrivate({ ...publicJwk, d });
  // Within a function: an object of Node's would be extractable.
  const secret = createPrivateKey({ key: { kty, crv, x, d }, format: 'jwk' });
  // Ed25519 hashes by itself.
  const signature = (bytes: Uint8Array): Buffer => sign(null, bytes, secret);
  return { kid: publicJwk.kid, privateKey, publicJwk, signature };
}

/** The public halves, for publication; receipts and tokens of all these keys can be verified. */
export function publicKeySet(keys: readonly SigningKey[]): JSONWebKeySet {
  return { keys: keys.map(({ publicJwk }) => ({ ...publicJwk })) };
}

async function publicJwkOf(x: string | undefined): Promise<PublicJwk> {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: x ?? '' } as const;
  const kid = await calculateJwkThumbprint(jwk, 'sha256');
  return { ...jwk, kid, alg: signatureAlgorithm, use: 'sig' };
}

async function importPrivate(jwk: PublicJwk & { d: string }): Promise<CryptoKey> {
  const key = await importJWK({ ...jwk }, signatureAlgorithm).catch(() => null);
  if (key === null || key instanceof Uint8Array) {
    throw new Error('the signing key is not a valid Ed25519 key pair');
  }
  return key;
}

function parseJwk(text: string): Readonly<Record<string, unknown>> {
  try {
    const jwk: unknown = JSON.parse(text);
    if (typeof jwk === 'object' && jwk !== null) return { ...jwk };
  } catch {
    // The parser's message quotes the text, which is a secret.
  }
  throw new Error('the signing key is not JSON');
}
