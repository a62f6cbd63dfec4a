import type { Verification } from '../../domain/verification';
import {
  claimProblem,
  readJwtKey,
  timesOf,
  verifyToken,
  type JwtRead,
  type JwtScheme,
} from './jwt';
import { refuse } from './refusals';
import { activeSecrets, type WebhookSecret } from './secrets';
import { listedSignatures, type Trying } from './trying';

/** Judges a request whose signature is a JWT: signed by whom, about this request, since when. */
export async function verifyJwt(trying: Trying, scheme: JwtScheme): Promise<Verification> {
  const { compiled, view, secrets, judging } = trying;
  const listed = listedSignatures(trying);
  if (!listed.ok) return listed;
  const active = activeSecrets(compiled, secrets, judging.receivedAtMs);
  if (!active.ok) return active;
  let last: JwtRead = refuse('signature_mismatch', 'the token is not signed by an active secret');
  for (const { secret } of active.tests) {
    last = await firstGood(listed.signatures, secret, scheme);
    judging.note?.('secret', `${secret.id} ${last.ok ? 'matches' : 'does not match'}`);
    if (!last.ok) continue;
    const problem = claimProblem(scheme, last.claims, view);
    if (problem !== null) return problem;
    const times = timesOf(scheme, last.claims);
    return times.ok ? { ...times, secretId: secret.id } : times;
  }
  return last;
}

async function firstGood(
  tokens: readonly Uint8Array[],
  secret: WebhookSecret,
  scheme: JwtScheme,
): Promise<JwtRead> {
  const key = readJwtKey(scheme, secret.value);
  let read: JwtRead = refuse('unusable_secret', 'no active secret is a key of this scheme');
  if (key === null) return read;
  for (const token of tokens) {
    read = await verifyToken(token, key, scheme);
    if (read.ok) break;
  }
  return read;
}
