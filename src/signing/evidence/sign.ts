import { CompactSign } from 'jose';
import type { z } from 'zod';
import { EvidenceClaims, STATEMENT_TYPE } from '../../schemas/evidence-statements';
import { signatureAlgorithm, type SigningKey } from '../keys';

/**
 * Signs what a signer says of a connector version, as a compact JWS that carries the public key.
 * Throws for claims that a reader would refuse.
 */
export async function signStatement(
  claims: z.input<typeof EvidenceClaims>,
  key: SigningKey,
): Promise<string> {
  const checked = EvidenceClaims.parse(claims);
  const { kty, crv, x } = key.publicJwk;
  return await new CompactSign(Buffer.from(JSON.stringify(checked), 'utf8'))
    .setProtectedHeader({ alg: signatureAlgorithm, typ: STATEMENT_TYPE, jwk: { kty, crv, x } })
    .sign(key.privateKey);
}
