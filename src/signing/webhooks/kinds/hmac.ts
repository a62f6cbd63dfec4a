import { createHmac } from 'node:crypto';
import type { HashName, KeyEncoding } from '../../../schemas/webhook-schemes/fields';
import { sameBytes } from '../constant-time';
import { decodeKey } from '../encodings';
import type { MessageSigner, SecretReader } from '../kinds';

interface Hmac {
  readonly hash: HashName;
  readonly key_encoding?: KeyEncoding | undefined;
}

/** Keyed hash over the message. The hash is the scheme's, never one that the request names. */
export function hmacReader({ hash, key_encoding = 'utf8' }: Hmac): SecretReader {
  return (secret) => {
    const key = decodeKey(key_encoding, secret);
    if (key === null) return null;
    return (message) => {
      const expected = digestOf(hash, key, message);
      return (signature) => sameBytes(signature, expected);
    };
  };
}

export function hmacSigner({ hash, key_encoding = 'utf8' }: Hmac): MessageSigner {
  return (secret, message) => {
    const key = decodeKey(key_encoding, secret);
    return key === null ? null : digestOf(hash, key, message);
  };
}

function digestOf(hash: HashName, key: Uint8Array, message: readonly Uint8Array[]): Uint8Array {
  const hmac = createHmac(hash, key);
  for (const part of message) hmac.update(part);
  return hmac.digest();
}
