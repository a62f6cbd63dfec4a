/** Finds the secret that made the signatures of a request. */
import type { Unverified } from '../../domain/verification';
import type { CompiledMessage } from './compile-message';
import { withSecret, type MessageBytes } from './message';
import { refuse } from './refusals';
import { activeSecrets, type SecretTest } from './secrets';
import type { Trying } from './trying';

/** One message and the signatures of which one must be right. */
export interface Check {
  readonly parts: MessageBytes['parts'];
  readonly signatures: readonly Uint8Array[];
}

export type Match = { readonly ok: true; readonly secretId: string } | Unverified;

/** The first active secret under which every check holds. */
export function matchingSecret(trying: Trying, checks: readonly Check[]): Match {
  const { compiled, secrets, judging } = trying;
  const active = activeSecrets(compiled, secrets, judging.receivedAtMs);
  if (!active.ok) return active;
  for (const candidate of active.tests) {
    const right = checks.every((check) => holds(candidate, check, compiled.message));
    const { id } = candidate.secret;
    judging.note?.('secret', `${id} ${right ? 'matches' : 'does not match'}`);
    if (right) return { ok: true, secretId: id };
  }
  return refuse('signature_mismatch', 'no listed signature matches an active secret');
}

function holds(
  { secret, test }: SecretTest,
  { parts, signatures }: Check,
  message: CompiledMessage | null,
): boolean {
  const whole =
    message?.usesSecret === true
      ? withSecret(parts, secret.value)
      : parts.filter((part) => part !== null);
  return signatures.some(test(whole));
}
