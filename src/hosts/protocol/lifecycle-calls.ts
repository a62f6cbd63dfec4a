/** Lifecycle calls: what a host says of itself, signed by its key (docs/host-protocol). */
import type { LifecycleClaims, LifecycleOperation } from '../../domain/host-protocol';
import { LifecycleClaimsSchema } from '../../schemas/host-messages';
import type { SigningKey } from '../../signing/keys';
import { openOfPeer, signJson } from './jws';
import { LIFECYCLE_LIMIT_BYTES } from './limits';

/** The `aud` of a lifecycle call where the deployment names no other. */
export const LIFECYCLE_AUDIENCE = 'urn:waybill:lifecycle';
/** How long a signed call may be under way. */
export const LIFECYCLE_CALL_LIFE_S = 60;
/** How far a host's clock may be ahead or behind. */
const CLOCK_TOLERANCE_S = 60;

/** Signs a call. Throws for claims that Waybill would not read. */
export async function signLifecycleCall(claims: LifecycleClaims, key: SigningKey): Promise<string> {
  return await signJson(LifecycleClaimsSchema.parse(claims), 'waybill-host-lifecycle', key);
}

export interface ExpectedLifecycleCall {
  /** Of the path. */
  readonly replicaId: string;
  readonly operation: LifecycleOperation;
  /** Of the replica's row. */
  readonly peerDid: string;
  readonly audience: string;
  /** The database's clock. */
  readonly nowMs: number;
}

export type VerifiedLifecycleCall =
  | { readonly kind: 'verified'; readonly claims: LifecycleClaims }
  | { readonly kind: 'refused'; readonly reason: LifecycleRefusal };

export type LifecycleRefusal = 'wrong_signature' | 'wrong_call' | 'expired';

/**
 * Verifies a call's body for the route it came in by. Sequence and request id are for the row to
 * judge: repeating a call is allowed and answered the same.
 */
export async function verifyLifecycleCall(
  jws: string,
  expected: ExpectedLifecycleCall,
): Promise<VerifiedLifecycleCall> {
  if (jws.length > LIFECYCLE_LIMIT_BYTES) return refused('wrong_signature');
  const payload = await openOfPeer(jws, 'waybill-host-lifecycle', expected.peerDid);
  const parsed = LifecycleClaimsSchema.safeParse(payload);
  if (!parsed.success) return refused('wrong_signature');
  const claims = parsed.data;
  const fits =
    claims.iss === expected.peerDid &&
    claims.sub === expected.replicaId &&
    claims.aud === expected.audience &&
    claims.operation === expected.operation;
  if (!fits) return refused('wrong_call');
  return isCurrent(claims, expected.nowMs / 1000)
    ? { kind: 'verified', claims }
    : refused('expired');
}

function isCurrent({ iat, exp }: LifecycleClaims, nowS: number): boolean {
  const lasts = exp - iat;
  return (
    lasts <= LIFECYCLE_CALL_LIFE_S &&
    iat <= nowS + CLOCK_TOLERANCE_S &&
    exp >= nowS - CLOCK_TOLERANCE_S
  );
}

function refused(reason: LifecycleRefusal): VerifiedLifecycleCall {
  return { kind: 'refused', reason };
}
