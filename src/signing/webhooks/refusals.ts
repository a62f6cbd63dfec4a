import type { Unverified, VerificationReason } from '../../domain/verification';

/** A refusal with its detail: one line, no secret, no signature, nothing that the sender chose. */
export function refuse(reason: VerificationReason, detail: string): Unverified {
  return { ok: false, reason, detail };
}
