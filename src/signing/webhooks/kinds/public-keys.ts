/** Signatures that a public key verifies: Ed25519, ECDSA P-256, RSA PKCS#1 v1.5. */
import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import type { HashName } from '../../../schemas/webhook-schemes/fields';
import type { SecretReader } from '../kinds';
import { readPublicKey, seedKeyPair, type PublicKeyEncoding } from '../public-keys';

export function ed25519Reader(scheme: {
  readonly key_encoding?: PublicKeyEncoding | undefined;
}): SecretReader {
  return remembering((text) => {
    const key = readPublicKey('ed25519', text, scheme.key_encoding);
    return key && tester(null, key);
  });
}

/** The vendor derives the key pair from a secret that both sides know. */
export function seededReader(scheme: {
  readonly key_encoding?: 'utf8' | 'hex' | 'base64' | undefined;
}): SecretReader {
  return remembering((text) => {
    const pair = seedKeyPair(scheme.key_encoding ?? 'utf8', text);
    return pair && tester(null, createPublicKey(pair));
  });
}

export function ecdsaReader(scheme: {
  readonly key_encoding?: PublicKeyEncoding | undefined;
}): SecretReader {
  return remembering((text) => {
    const key = readPublicKey('ec', text, scheme.key_encoding);
    return key && tester('sha256', key);
  });
}

export function rsaReader(scheme: {
  readonly hash: HashName;
  readonly key_encoding?: PublicKeyEncoding | undefined;
}): SecretReader {
  return remembering((text) => {
    const key = readPublicKey('rsa', text, scheme.key_encoding);
    return key && tester(scheme.hash, key);
  });
}

function tester(hash: HashName | null, key: KeyObject) {
  return (message: readonly Uint8Array[]) => {
    const bytes = message.length === 1 && message[0] ? message[0] : Buffer.concat(message);
    return (signature: Uint8Array) => {
      try {
        return verify(hash, bytes, key, signature);
      } catch {
        // OpenSSL may report what is no signature of the key as an error.
        return false;
      }
    };
  };
}

const MAX_REMEMBERED = 20;

/** Reading a key costs more than using it, and a scheme sees the same few keys again and again. */
function remembering(read: SecretReader): SecretReader {
  const known = new Map<string, ReturnType<SecretReader>>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const test = read(text);
    if (known.size >= MAX_REMEMBERED) known.clear();
    known.set(text, test);
    return test;
  };
}
