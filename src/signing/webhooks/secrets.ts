import type { Unverified } from '../../domain/verification';
import type { CompiledScheme } from './compile';
import type { MessageTest } from './kinds';
import { refuse } from './refusals';

/** A configured secret and the time in which it counts: from `notBeforeMs` until `notAfterMs`. */
export interface WebhookSecret {
  readonly id: string;
  readonly value: string;
  /** ms since the epoch, included. */
  readonly notBeforeMs?: number | undefined;
  /** ms since the epoch, excluded: at this instant the secret has stopped to count. */
  readonly notAfterMs?: number | undefined;
}

export interface SecretTest {
  readonly secret: WebhookSecret;
  readonly test: MessageTest;
}

export interface SecretTests {
  readonly ok: true;
  readonly tests: readonly SecretTest[];
}

/**
 * The secrets that counted at the receipt of a request, ready to test its message. A secret that is
 * no key of the scheme is passed over while another one is usable.
 */
export function activeSecrets(
  { readSecret }: CompiledScheme,
  secrets: readonly WebhookSecret[],
  receivedAtMs: number,
): SecretTests | Unverified {
  const active = secrets.filter((secret) => isActive(secret, receivedAtMs));
  if (active.length === 0) return refuse('no_active_secret', 'no secret was active at receipt');
  const tests = active.flatMap((secret) => {
    const test = readSecret(secret.value);
    return test === null ? [] : [{ secret, test }];
  });
  if (tests.length > 0) return { ok: true, tests };
  return refuse('unusable_secret', 'no active secret is a key of this scheme');
}

/** Whether a secret counts at an instant. */
export function isActive(
  { notBeforeMs = -Infinity, notAfterMs = Infinity }: WebhookSecret,
  atMs: number,
): boolean {
  return notBeforeMs <= atMs && atMs < notAfterMs;
}

/**
 * What is wrong with a secret for this scheme, or null. For the moment of configuration: an empty
 * secret, or one that is no key of the scheme, is refused there. Never quotes the secret.
 */
export function secretProblem(compiled: CompiledScheme, secret: string): string | null {
  if (compiled.readSecret(secret) !== null) return null;
  if (secret === '') return 'the secret is empty';
  return `the secret is not a non-empty key of the scheme: ${wanted(compiled)}`;
}

function wanted({ scheme }: CompiledScheme): string {
  switch (scheme.kind) {
    case 'basic-auth':
      return 'user and password with a colon between them';
    case 'hmac':
    case 'digest':
    case 'shared-token':
    case 'ed25519-seed-from-secret':
      return `the encoding is ${encodingOf(scheme)}`;
    case 'ed25519':
    case 'ecdsa-p256':
    case 'rsa-pkcs1':
      return `a public key of ${scheme.kind} as PEM, JWK, or text in ${encodingOf(scheme, 'hex or base64')}`;
    case 'jwt':
      return `a key of ${scheme.algorithms.join(', ')}`;
  }
}

function encodingOf(scheme: object, otherwise = 'utf8'): string {
  return 'key_encoding' in scheme && typeof scheme.key_encoding === 'string'
    ? scheme.key_encoding
    : otherwise;
}
