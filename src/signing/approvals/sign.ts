import { CompactSign } from 'jose';
import { APPROVAL_TYPE, ApprovalClaims } from '../../schemas/approval-tokens';
import { didOfKey } from '../did-key';
import { signatureAlgorithm, type SigningKey } from '../keys';

/**
 * Signs an approval with the approver's own key (docs/architecture, "Approvals"): a compact JWS whose
 * issuer is that key's did:key. Needs no server.
 * @throws ZodError for claims that a reader would refuse
 */
export async function signApproval(
  claims: Omit<ApprovalClaims, 'iss'>,
  key: SigningKey,
): Promise<string> {
  const checked = ApprovalClaims.parse({ iss: didOfKey(key.publicJwk.x), ...claims });
  return await new CompactSign(Buffer.from(JSON.stringify(checked), 'utf8'))
    .setProtectedHeader({ alg: signatureAlgorithm, typ: APPROVAL_TYPE, kid: key.kid })
    .sign(key.privateKey);
}
