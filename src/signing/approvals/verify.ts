/**
 * Whether an approval token approves this very thing, here and now (docs/architecture, "Approvals").
 * Time and trust are parameters.
 */
import { compactVerify, importJWK } from 'jose';
import type { CarriedApproval } from '../../domain/sending';
import { type ApprovalClaims, readApprovalToken } from '../../schemas/approval-tokens';
import type { TrustedApprovers } from '../../schemas/trusted-approvers';
import { keyOfDid } from '../did-key';
import { signatureAlgorithm } from '../keys';

/** How far an approver's clock may be ahead. */
const AHEAD_MS = 60_000;

export interface ApprovalContext {
  readonly tenantId: string;
  /** What waits for it: `action/{actionId}` or `delivery/{idempotencyKey}`. */
  readonly about: string;
  /** Lower-case hex SHA-256 of the request as it would be sent. */
  readonly requestDigest: string;
  readonly nowMs: number;
  /** Of the settings. */
  readonly trusted: TrustedApprovers;
}

/**
 * `malformed`: no approval token; `untrusted`: nobody whom this deployment trusts for the tenant;
 * `forged`: not signed with the key that it names; `other_tenant`, `other_subject`, `other_request`: it
 * approves something else; `expired`, `not_yet_valid`: not now.
 */
export const APPROVAL_REFUSALS = [
  'malformed',
  'untrusted',
  'forged',
  'other_tenant',
  'other_subject',
  'other_request',
  'expired',
  'not_yet_valid',
] as const;
export type ApprovalRefusal = (typeof APPROVAL_REFUSALS)[number];

export type ApprovalVerdict =
  | { readonly ok: true; readonly approval: CarriedApproval }
  | { readonly ok: false; readonly reason: ApprovalRefusal };

/** Never throws for what the token is. */
export async function verifyApproval(
  token: string,
  context: ApprovalContext,
): Promise<ApprovalVerdict> {
  const claims = readApprovalToken(token);
  if (claims === null) return { ok: false, reason: 'malformed' };
  if (!isTrustedApprover({ approver: claims.sub, key: claims.iss }, context))
    return { ok: false, reason: 'untrusted' };
  if (!(await isSigned(token, claims.iss))) return { ok: false, reason: 'forged' };
  const reason = faultOf(claims, context);
  if (reason !== null) return { ok: false, reason };
  const expiresAt = new Date(claims.exp * 1000).toISOString();
  const { jti: approvalId, sub: approver, iss: key } = claims;
  return { ok: true, approval: { approvalId, approver, key, expiresAt } };
}

/** Whether the deployment takes approvals of that name and key, in that tenant, now. */
export function isTrustedApprover(
  { approver: name, key }: Pick<CarriedApproval, 'approver' | 'key'>,
  { tenantId, trusted }: Pick<ApprovalContext, 'tenantId' | 'trusted'>,
): boolean {
  const approver = Object.hasOwn(trusted, name) ? trusted[name] : undefined;
  if (approver === undefined) return false;
  return approver.keys.includes(key) && (approver.tenants?.includes(tenantId) ?? true);
}

async function isSigned(token: string, did: string): Promise<boolean> {
  const x = keyOfDid(did);
  if (x === null) return false;
  try {
    const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x }, signatureAlgorithm);
    await compactVerify(token, key, { algorithms: [signatureAlgorithm] });
    return true;
  } catch {
    // Whatever is wrong with it, that key has not signed it.
    return false;
  }
}

function faultOf(claims: ApprovalClaims, context: ApprovalContext): ApprovalRefusal | null {
  if (claims.tenant !== context.tenantId) return 'other_tenant';
  if (claims.about !== context.about) return 'other_subject';
  if (claims.request_digest !== context.requestDigest) return 'other_request';
  if (claims.exp * 1000 <= context.nowMs) return 'expired';
  if (claims.iat * 1000 > context.nowMs + AHEAD_MS) return 'not_yet_valid';
  return null;
}
