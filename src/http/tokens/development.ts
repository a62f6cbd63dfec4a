/**
 * Tokens by a key of this machine, for development: whoever holds the key is any tenant. The
 * composition refuses it where the API listens outside loopback.
 */
import { createLocalJWKSet, SignJWT } from 'jose';
import { signatureAlgorithm, type PublicJwk, type SigningKey } from '../../signing/keys';
import type { TokenIssuer, TokenVerifier } from '../tokens';
import { principalOf } from './claims';

/** Issuer and audience of development tokens. */
const DEVELOPMENT_ISSUER: TokenIssuer = {
  issuer: 'urn:waybill:development',
  audience: 'urn:waybill:api',
};

/**
 * Accepts tokens that were signed with this key and say that they are development tokens.
 * @param nowMs what time it is for them, in ms since the epoch
 */
export function developmentTokens(publicJwk: PublicJwk, nowMs: () => number): TokenVerifier {
  const keys = createLocalJWKSet({ keys: [{ ...publicJwk }] });
  return {
    verify: (authorization) =>
      principalOf(authorization, {
        ...DEVELOPMENT_ISSUER,
        keys,
        algorithms: [signatureAlgorithm],
        nowMs,
      }),
  };
}

export interface DevelopmentClaims {
  readonly tenantId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** What else the token says, such as `roles`, `capabilities` and `max_side_effect`. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly issuedAt: Date;
  readonly lifetimeS: number;
}

/** Makes a development token. */
export async function issueDevelopmentToken(
  key: SigningKey,
  { tenantId, subject, scopes, claims, issuedAt, lifetimeS }: DevelopmentClaims,
): Promise<string> {
  const issuedAtS = Math.floor(issuedAt.getTime() / 1000);
  return await new SignJWT({ ...claims, tenant: tenantId, scope: scopes.join(' ') })
    .setProtectedHeader({ alg: signatureAlgorithm, kid: key.kid, typ: 'JWT' })
    .setIssuer(DEVELOPMENT_ISSUER.issuer)
    .setAudience(DEVELOPMENT_ISSUER.audience)
    .setSubject(subject)
    .setIssuedAt(issuedAtS)
    .setExpirationTime(issuedAtS + lifetimeS)
    .sign(key.privateKey);
}
