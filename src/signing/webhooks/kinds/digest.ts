import { createHash } from 'node:crypto';
import type { HashName } from '../../../schemas/webhook-schemes/fields';
import { sameBytes } from '../constant-time';
import type { MessageSigner, SecretReader } from '../kinds';

interface Digest {
  readonly hash: HashName;
}

/** Plain hash of a message that contains the secret. */
export function digestReader({ hash }: Digest): SecretReader {
  return (secret) => {
    if (secret === '') return null;
    return (message) => {
      const expected = digestOf(hash, message);
      return (signature) => sameBytes(signature, expected);
    };
  };
}

export function digestSigner({ hash }: Digest): MessageSigner {
  return (secret, message) => (secret === '' ? null : digestOf(hash, message));
}

function digestOf(hash: HashName, message: readonly Uint8Array[]): Uint8Array {
  const digest = createHash(hash);
  for (const part of message) digest.update(part);
  return digest.digest();
}
