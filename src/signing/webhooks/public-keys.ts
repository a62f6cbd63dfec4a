/** Public keys in the forms that vendors give them: PEM, JWK, or DER and raw bytes as text. */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { decodeKey, decodeSignature } from './encodings';

export type PublicKeyEncoding = 'hex' | 'base64' | 'whpk';
export type PublicKeyType = 'ed25519' | 'ec' | 'rsa';

/** RFC 8410 and RFC 5480: what stands before the raw key in its DER form. */
const rawPrefixes: Readonly<Record<string, string>> = {
  'ed25519:32': '302a300506032b6570032100',
  'ec:65': '3059301306072a8648ce3d020106082a8648ce3d030107034200',
  'ec:33': '3039301306072a8648ce3d020106082a8648ce3d030107032200',
};
const seedPrefix = '302e020100300506032b657004220420';
const seedBytes = 32;
const minRsaBits = 1024;

/**
 * Reads a public key: PEM (also a certificate) or JWK whatever the encoding; else text in it, or in
 * hex or Base64 where none is given. Null where it is empty, no such key, or a key of another type.
 */
export function readPublicKey(
  type: PublicKeyType,
  text: string,
  encoding?: PublicKeyEncoding,
): KeyObject | null {
  try {
    const key = parseKey(type, text.trim(), encoding);
    return key !== null && isOf(type, key) ? key : null;
  } catch {
    return null;
  }
}

/** The key of `readPublicKey` for whichever of these types it is. */
export function readAnyPublicKey(text: string, encoding?: PublicKeyEncoding): KeyObject | null {
  const trimmed = text.trim();
  try {
    if (/^-----BEGIN |^\{/.test(trimmed)) return parseKey('rsa', trimmed, encoding);
  } catch {
    return null;
  }
  const types: readonly PublicKeyType[] = ['rsa', 'ec', 'ed25519'];
  for (const type of types) {
    const key = readPublicKey(type, trimmed, encoding);
    if (key !== null) return key;
  }
  return null;
}

/** The Ed25519 private key whose seed is the secret's bytes, repeated until there are 32. */
export function seedKeyPair(encoding: 'utf8' | 'hex' | 'base64', secret: string): KeyObject | null {
  const bytes = decodeKey(encoding, secret);
  if (bytes === null) return null;
  const seed = Buffer.alloc(seedBytes, bytes);
  const der = Buffer.concat([Buffer.from(seedPrefix, 'hex'), seed]);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}

function parseKey(type: PublicKeyType, text: string, encoding?: PublicKeyEncoding) {
  if (text.startsWith('-----BEGIN ')) return publicOnly(text);
  if (text.startsWith('{')) {
    const jwk: unknown = JSON.parse(text);
    if (typeof jwk !== 'object' || jwk === null || 'd' in jwk) return null;
    return createPublicKey({ key: { ...jwk }, format: 'jwk' });
  }
  const bytes = decodeText(text, encoding);
  if (bytes === null) return null;
  const prefix = rawPrefixes[`${type}:${bytes.length}`];
  const key = prefix === undefined ? bytes : Buffer.concat([Buffer.from(prefix, 'hex'), bytes]);
  return createPublicKey({ key: Buffer.from(key), format: 'der', type: 'spki' });
}

/** A private key is refused where its public half is meant: it does not belong here. */
function publicOnly(pem: string): KeyObject | null {
  return /^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem) ? null : createPublicKey(pem);
}

function decodeText(text: string, encoding: PublicKeyEncoding | undefined): Uint8Array | null {
  const plain = text.replaceAll(/\s+/g, '');
  if (encoding !== undefined) return decodeKey(encoding, plain);
  return decodeSignature('hex', plain.toLowerCase()) ?? decodeSignature('base64', plain);
}

function isOf(type: PublicKeyType, key: KeyObject): boolean {
  if (key.asymmetricKeyType !== type) return false;
  const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (type === 'rsa') return (modulusLength ?? 0) >= minRsaBits;
  return type === 'ed25519' || namedCurve === 'prime256v1';
}
