import type { MessageScheme, WebhookScheme } from '../../schemas/webhook-schemes';
import { compileHandshakes, type CompiledHandshake } from './compile-handshakes';
import { compileMessage, type CompiledMessage } from './compile-message';
import { readJwtKey } from './jwt';
import type { SecretReader } from './kinds';
import { digestReader } from './kinds/digest';
import { hmacReader } from './kinds/hmac';
import { ecdsaReader, ed25519Reader, rsaReader, seededReader } from './kinds/public-keys';
import { basicAuthReader, sharedTokenReader } from './kinds/tokens';
import { signatureReader, type SignatureReader } from './signature-field';

/** A scheme made ready for many requests. */
export interface CompiledScheme {
  readonly scheme: WebhookScheme;
  /** Null for the kinds that sign no message. */
  readonly message: CompiledMessage | null;
  readonly signatures: SignatureReader;
  /** Of a JWT it tells good keys from bad ones and no more. */
  readonly readSecret: SecretReader;
  readonly handshakes: readonly CompiledHandshake[];
}

/**
 * Prepares a parsed scheme once. Throws only for a scheme that its schema would have refused, which
 * is a fault of the program.
 */
export function compileScheme(scheme: WebhookScheme): CompiledScheme {
  return {
    scheme,
    message: isMessageScheme(scheme) ? compileMessage(scheme) : null,
    signatures: signatureReader(scheme),
    readSecret: secretReader(scheme),
    handshakes: compileHandshakes(scheme.handshakes ?? []),
  };
}

export function isMessageScheme(scheme: WebhookScheme): scheme is MessageScheme {
  return 'message' in scheme;
}

function secretReader(scheme: WebhookScheme): SecretReader {
  switch (scheme.kind) {
    case 'hmac':
      return hmacReader(scheme);
    case 'digest':
      return digestReader(scheme);
    case 'ed25519':
      return ed25519Reader(scheme);
    case 'ed25519-seed-from-secret':
      return seededReader(scheme);
    case 'ecdsa-p256':
      return ecdsaReader(scheme);
    case 'rsa-pkcs1':
      return rsaReader(scheme);
    case 'shared-token':
      return sharedTokenReader();
    case 'basic-auth':
      return basicAuthReader();
    case 'jwt':
      return (secret) => (readJwtKey(scheme, secret) === null ? null : () => () => false);
  }
}
