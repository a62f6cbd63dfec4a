/**
 * The port through which bearer tokens are judged. Implementations: the key set of an identity
 * provider, and a local development key.
 */
import type { TenantId } from '../domain/ids';
import type { TokenLimits } from './token-limits';

/** Who calls, by the token alone. */
export interface Principal {
  readonly tenantId: TenantId;
  /** The token's `sub`: recorded as the one who did it. */
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
  readonly limits: TokenLimits;
}

export interface TokenVerifier {
  /**
   * Judges the value of an Authorization header.
   * @throws WaybillError `unauthenticated` for anything that is not a valid token;
   *   `token_keys_unavailable` when the keys to judge it by cannot be fetched now
   */
  verify(authorization: string | undefined): Promise<Principal>;
}

/** Whose tokens count, and for whom they must be made. */
export interface TokenIssuer {
  readonly issuer: string;
  readonly audience: string;
}
