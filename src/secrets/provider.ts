/**
 * The port through which secrets are read. A row, log or history holds only the reference: `env:NAME`,
 * `file:PATH` or `vault:MOUNT/PATH#KEY`.
 */
import { createHash } from 'node:crypto';
import { SecretText } from './secret-text';

export interface ResolvedSecret {
  readonly value: SecretText;
  /** Changes when the value does; says nothing about it. */
  readonly revision: string;
}

export interface SecretProvider {
  /** Reads a secret when it is used. Rejects with a `SecretError`; never answers an empty value. */
  resolve(ref: string): Promise<ResolvedSecret>;
}

export type SecretFault =
  'malformed' | 'not_configured' | 'not_found' | 'unreadable' | 'empty' | 'no_key';

/** Why a secret could not be read or used. Names the reference, never the value. */
export class SecretError extends Error {
  override readonly name = 'SecretError';
  readonly fault: SecretFault;

  constructor(fault: SecretFault, message: string) {
    super(message);
    this.fault = fault;
  }
}

/**
 * A value with its revision. The revision is a short fingerprint, salted with the reference: too
 * short to find a value from it, the same in every process that reads the same secret.
 */
export function resolvedSecret(ref: string, value: string): ResolvedSecret {
  if (value === '') throw new SecretError('empty', `secret ${ref} is empty`);
  const digest = createHash('sha256').update(`${ref}\0${value}`).digest('hex');
  return { value: new SecretText(value), revision: digest.slice(0, 8) };
}
