import { sign } from 'node:crypto';
import type { MessageSigner } from '../kinds';
import { seedKeyPair } from '../public-keys';

/** Ed25519 with the key that the secret is the seed of. */
export function seedSigner(scheme: {
  readonly key_encoding?: 'utf8' | 'hex' | 'base64' | undefined;
}): MessageSigner {
  return (secret, message) => {
    const key = seedKeyPair(scheme.key_encoding ?? 'utf8', secret);
    return key && sign(null, Buffer.concat(message), key);
  };
}
