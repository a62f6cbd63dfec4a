import { createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookScheme } from '../../../schemas/webhook-schemes';
import { decodeKey } from '../encodings';
import type { SecretReader } from '../kinds';

/** Keyed hash over the message. The hash is the scheme's, never one that the request names. */
export function hmacReader(scheme: WebhookScheme & { kind: 'hmac' }): SecretReader {
  return (secret) => {
    const key = decodeKey(scheme.key_encoding, secret);
    if (key === null) return null;
    return (message) => {
      const hmac = createHmac(scheme.hash, key);
      for (const part of message) hmac.update(part);
      const expected = hmac.digest();
      return (signature) =>
        signature.length === expected.length && timingSafeEqual(signature, expected);
    };
  };
}
