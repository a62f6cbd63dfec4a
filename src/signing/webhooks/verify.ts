/**
 * Verifies a webhook request over its bytes (docs/architecture, "Order of receiving"): signature
 * first, then what the signed parts say of the body and of time. Freshness is not decided here: the
 * caller's clock decides that as of receipt, from the signed instant and the limits that a positive
 * answer holds.
 */
import type { Verification } from '../../domain/verification';
import { isMessageScheme, type CompiledScheme } from './compile';
import { matchingSecret } from './matching';
import type { WebhookRequest } from './request';
import type { WebhookSecret } from './secrets';
import { listedSignatures, type Judging, type Trying } from './trying';
import { verifyJwt } from './verify-jwt';
import { verifyMessage } from './verify-message';
import { viewOf } from './view';

/**
 * Any active secret and any listed signature may match; of a vendor that signs every item of a batch,
 * every item. Answers a refusal for every fault of the request and never throws. Work is bounded: for
 * each secret one hash of the message and at most `maxSignatures` comparisons, or for a public key at
 * most `maxPublicKeySignatures` verifications.
 */
export async function verify(
  compiled: CompiledScheme,
  request: WebhookRequest,
  secrets: readonly WebhookSecret[],
  judging: Judging,
): Promise<Verification> {
  const { scheme, message } = compiled;
  const trying = { compiled, view: viewOf(request), secrets, judging };
  if (scheme.kind === 'jwt') return await verifyJwt(trying, scheme);
  if (message === null || !isMessageScheme(scheme)) return verifyToken(trying);
  return verifyMessage(trying, scheme, message);
}

/** Of the kinds whose signature is the secret itself. */
function verifyToken(trying: Trying): Verification {
  const listed = listedSignatures(trying);
  if (!listed.ok) return listed;
  const match = matchingSecret(trying, [{ parts: [], signatures: listed.signatures }]);
  return match.ok ? { ...match, signedAtMs: null, limits: null } : match;
}
