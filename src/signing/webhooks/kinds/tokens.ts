import { sameSecret } from '../constant-time';
import type { SecretReader } from '../kinds';

/** The secret itself is sent and compared. */
export function sharedTokenReader(): SecretReader {
  return (secret) => (secret === '' ? null : sent(secret));
}

/** HTTP Basic: user and password are sent together, as one secret with a colon in it. */
export function basicAuthReader(): SecretReader {
  return (secret) => (secret.includes(':') && secret !== ':' ? sent(secret) : null);
}

function sent(secret: string) {
  const expected = Buffer.from(secret, 'utf8');
  return () => (token: Uint8Array) => sameSecret(token, expected);
}
