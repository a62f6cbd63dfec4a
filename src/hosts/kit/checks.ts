/** Whether a request may be served: everything that a token says, before the store is asked. */
import type { HostRefusal, RouteToken, TokenPurpose } from '../../domain/host-protocol';
import type { TokenTrust } from '../../schemas/host-messages';
import { openRouteToken } from '../protocol/route-tokens';

/** What a host knows of itself. */
export interface HostIdentity {
  readonly tenantId: string;
  readonly connectorId: string;
  readonly instanceId: string;
  readonly version: string;
  readonly replicaId: string;
  /** Credentials that it may use now. */
  readonly credentialRevisions: readonly string[];
}

export interface HostSelf extends HostIdentity {
  readonly did: string;
  readonly manifestDigest: string;
  readonly storeEpoch: string;
  /** Of the registration; null before it. */
  readonly incarnation: number | null;
  readonly trust: TokenTrust | null;
}

export interface HostRequest {
  readonly purpose: TokenPurpose;
  /** Of the path. */
  readonly action: string;
  /** The compact JWS, or an empty text. */
  readonly token: string;
  readonly bodySha256: string;
  readonly nowMs: number;
}

export type CheckedRequest =
  | { readonly kind: 'permitted'; readonly token: RouteToken }
  /** The token is null where it cannot be believed. */
  | { readonly kind: 'refused'; readonly refusal: HostRefusal; readonly token: RouteToken | null };

/** Signature first; then each thing that can be wrong has its own refusal. */
export async function checkRequest(request: HostRequest, self: HostSelf): Promise<CheckedRequest> {
  const token = self.trust === null ? null : await openRouteToken(request.token, self.trust);
  if (token === null) return { kind: 'refused', refusal: 'token_invalid', token };
  const refusal = reasonAgainst(token, request, self);
  return refusal === null ? { kind: 'permitted', token } : { kind: 'refused', refusal, token };
}

function reasonAgainst(
  token: RouteToken,
  request: HostRequest,
  self: HostSelf,
): HostRefusal | null {
  if (token.aud !== self.did) return 'wrong_audience';
  // No tolerance: from that instant on the attempt may be settled without us.
  if (token.exp * 1000 <= request.nowMs) return 'token_expired';
  if (token.body_sha256 !== request.bodySha256) return 'wrong_body';
  const owned =
    token.purpose === request.purpose &&
    token.action === request.action &&
    token.tenant === self.tenantId &&
    token.connector === self.connectorId &&
    token.instance === self.instanceId &&
    token.version === self.version &&
    token.manifest_digest === self.manifestDigest &&
    token.replica === self.replicaId &&
    incarnationFits(token, self.incarnation);
  if (!owned) return 'wrong_coordinates';
  if (token.store_epoch !== null && token.store_epoch !== self.storeEpoch) return 'store_lost';
  // What became of an action can be asked also when its credential is no longer good.
  const needsCredential = token.purpose === 'execute';
  if (needsCredential && !self.credentialRevisions.includes(token.credential_revision)) {
    return 'credential_revoked';
  }
  return null;
}

/** Work goes to the process that was chosen; a question may be about one that ran before. */
function incarnationFits({ purpose, incarnation }: RouteToken, own: number | null): boolean {
  if (own === null) return false;
  return purpose === 'execute' ? incarnation === own : incarnation <= own;
}
