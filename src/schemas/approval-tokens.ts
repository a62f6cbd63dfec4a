/**
 * Approval tokens: what an approver signs with a key of their own, as a compact JWS
 * (docs/architecture, "Approvals"). Reading one checks its form and nothing of its signature.
 */
import { z } from 'zod';
import { PeerDid } from './fleet/replica-documents';
import { Label, Sha256 } from './fleet/texts';
import { Name } from './names';

/** Keeps an approval apart from other tokens that the same key signs. */
export const APPROVAL_TYPE = 'waybill-approval';

export const MAX_APPROVAL_LENGTH = 4_096;

/** An approval is for something that waits now: one that holds for years is a licence. */
export const MAX_APPROVAL_MS = 30 * 24 * 3_600_000;

const Seconds = z.int().min(0).max(253_402_300_799);

/** All of it is signed. */
export const ApprovalClaims = z
  .strictObject({
    /** The did:key of the key that signs. */
    iss: PeerDid,
    /** The approver, by the name that the deployment trusts the key under. */
    sub: Label,
    tenant: Name,
    about: z
      .string()
      .max(300)
      .regex(/^(?:action|delivery)\/[^\p{Cc}\p{Cs}]+$/u, 'write action/ID or delivery/KEY'),
    /** Lower-case hex SHA-256 of what is approved: other bytes under the same id are not. */
    request_digest: Sha256,
    /** Seconds since the epoch. */
    iat: Seconds,
    exp: Seconds,
    jti: z
      .string()
      .regex(/^[A-Za-z0-9._:-]{1,100}$/, 'write 1 to 100 letters, digits, ".", "_", ":" or "-"'),
  })
  .refine(({ iat, exp }) => exp > iat && (exp - iat) * 1000 <= MAX_APPROVAL_MS, {
    path: ['exp'],
    error: 'must be later than iat, by at most 30 days',
  });
export type ApprovalClaims = z.infer<typeof ApprovalClaims>;

const Header = z.strictObject({
  alg: z.literal('EdDSA'),
  typ: z.literal(APPROVAL_TYPE),
  kid: z.string().max(200).optional(),
});

/** The claims; null: this is no approval token, whoever signed it. */
export function readApprovalToken(token: string): ApprovalClaims | null {
  const parts = token.split('.', 4);
  if (token.length > MAX_APPROVAL_LENGTH || parts.length !== 3) return null;
  const [header = '', payload = ''] = parts;
  if (!Header.safeParse(jsonOf(header)).success) return null;
  return ApprovalClaims.safeParse(jsonOf(payload)).data ?? null;
}

function jsonOf(part: string): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url'));
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
