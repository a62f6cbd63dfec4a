/** A host's signed answers (docs/host-protocol). */
import type { HostAnswerClaims } from '../../domain/host-protocol';
import { HostAnswerSchema } from '../../schemas/host-messages';
import type { SigningKey } from '../../signing/keys';
import { openOfPeer, signJson } from './jws';

/** Signs an answer. Throws for claims that Waybill would not read. */
export async function signAnswer(claims: HostAnswerClaims, key: SigningKey): Promise<string> {
  return await signJson(HostAnswerSchema.parse(claims), 'waybill-host-answer', key);
}

/** What an answer has to refer to, all of it, to count as one to this request. */
export interface AnswerReference {
  readonly peerDid: string;
  readonly jti: string;
  readonly tenant: string;
  readonly action: string;
  readonly fence: number;
  readonly tokenSha256: string;
  readonly bodySha256: string;
}

export type OpenedAnswer =
  | { readonly kind: 'answer'; readonly claims: HostAnswerClaims }
  /** Not signed by the peer, or not an answer at all. */
  | { readonly kind: 'wrong_signature' }
  /** Signed by the peer, and not readable. */
  | { readonly kind: 'invalid' }
  /** Signed by the peer, about another request. */
  | { readonly kind: 'wrong_reference' };

/** Verifies an answer with the key of the assigned peer's DID and against the request. */
export async function openAnswer(jws: string, expected: AnswerReference): Promise<OpenedAnswer> {
  const payload = await openOfPeer(jws, 'waybill-host-answer', expected.peerDid);
  if (payload === null) return { kind: 'wrong_signature' };
  const answer = HostAnswerSchema.safeParse(payload);
  if (!answer.success) return { kind: 'invalid' };
  return refersTo(answer.data, expected)
    ? { kind: 'answer', claims: answer.data }
    : { kind: 'wrong_reference' };
}

function refersTo(claims: HostAnswerClaims, expected: AnswerReference): boolean {
  const { outcome } = claims;
  // A host that could not read the token knows its bytes alone.
  const unread = outcome.kind === 'refused' && outcome.refusal === 'token_invalid';
  const named =
    claims.in_reply_to === expected.jti &&
    claims.tenant === expected.tenant &&
    claims.action === expected.action &&
    claims.fence === expected.fence;
  return (
    claims.iss === expected.peerDid &&
    claims.token_sha256 === expected.tokenSha256 &&
    claims.body_sha256 === expected.bodySha256 &&
    (named || (unread && claims.in_reply_to === null))
  );
}
