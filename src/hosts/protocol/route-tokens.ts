/** Route tokens: what Waybill permits a host to do, once (docs/host-protocol). */
import type { RouteToken, RouteTokenClaims } from '../../domain/host-protocol';
import type { SigningKey } from '../../signing/keys';
import { RouteTokenSchema, type TokenTrust } from '../../schemas/host-messages';
import { TOKEN_LIMIT_BYTES } from './limits';
import { openWithKeys, signJson } from './jws';

/** The issuer of the deployment's route tokens: what a host is told when it registers. */
export const ROUTE_TOKEN_ISSUER = 'urn:waybill:routes';

/** What hosts are told to believe: tokens of the deployment, signed by any of these keys. */
export function routeTokenTrust(keys: readonly SigningKey[]): TokenTrust {
  const publicKeys = keys.map(({ publicJwk }) => ({ ...publicJwk }));
  return { issuer: ROUTE_TOKEN_ISSUER, keys: { keys: publicKeys } };
}

export interface TokenFrame {
  readonly issuer: string;
  /** `did:key` of the host that it is for. */
  readonly audience: string;
  readonly jti: string;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly issuedAtMs: number;
  /** The attempt's deadline; the token expires then or up to a second before. */
  readonly expiresAtMs: number;
}

/** Signs a token. Throws for claims that a host would not read. */
export async function signRouteToken(
  claims: RouteTokenClaims,
  frame: TokenFrame,
  key: SigningKey,
): Promise<string> {
  const token = RouteTokenSchema.parse({
    iss: frame.issuer,
    aud: frame.audience,
    iat: Math.floor(frame.issuedAtMs / 1000),
    exp: Math.floor(frame.expiresAtMs / 1000),
    jti: frame.jti,
    ...claims,
  });
  return await signJson(token, 'waybill-route', key);
}

/**
 * The claims of a token that was signed by a trusted key of the trusted issuer; null otherwise.
 * Audience, expiry and coordinates are for the caller to judge: each has a refusal of its own.
 */
export async function openRouteToken(jws: string, trust: TokenTrust): Promise<RouteToken | null> {
  if (jws.length > TOKEN_LIMIT_BYTES) return null;
  const payload = await openWithKeys(jws, 'waybill-route', trust.keys);
  const token = RouteTokenSchema.safeParse(payload);
  return token.success && token.data.iss === trust.issuer ? token.data : null;
}
