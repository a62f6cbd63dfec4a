/**
 * What Waybill and a connector host say to each other (docs/host-protocol). A request carries a route
 * token, an answer is signed by the host; both are compact JWS (EdDSA).
 */
import type { Topology } from './routes';

/** Claims of a route token beside `iss`, `aud`, `exp`, `iat` and `jti`. */
export interface RouteTokenClaims {
  readonly tenant: string;
  readonly action: string;
  readonly capability: string;
  readonly connector: string;
  readonly instance: string;
  readonly version: string;
  readonly manifest_digest: string;
  readonly replica: string;
  readonly incarnation: number;
  readonly topology: Topology;
  /** The host refuses a lower one than it has stored for the action. */
  readonly fence: number;
  readonly catalog_revision: number;
  readonly binding_policy_revision: number;
  readonly credential_revision: string;
  readonly quota_policy: string | null;
  readonly approval: string | null;
  /** What the token permits: nothing else may be done with it. */
  readonly purpose: 'execute' | 'reconcile' | 'cancel';
  /** SHA-256 (hex) of the request body. */
  readonly body_sha256: string;
}

/** What a host answers to execute, reconcile and cancel. */
export type HostOutcome =
  /** The effect is there; the body is the result. */
  | { readonly kind: 'succeeded'; readonly result: unknown }
  /** The provider refused for good; nothing will change by trying again. */
  | { readonly kind: 'failed'; readonly errorCode: string; readonly detail: string }
  | { readonly kind: 'running'; readonly progress: string | null }
  | { readonly kind: 'cancelled' }
  /** Nothing began and, under this fence, nothing will: the seal. */
  | { readonly kind: 'not_started' }
  /** The host cannot tell, and has no way to find out. */
  | { readonly kind: 'unknown' };

/** Why a host refuses a request; `started` says whether anything had begun. */
export type HostRefusal =
  | 'token_invalid'
  | 'token_expired'
  | 'token_replayed'
  | 'wrong_audience'
  | 'wrong_body'
  | 'wrong_coordinates'
  | 'credential_revoked'
  | 'stale_fence'
  | 'draining'
  | 'unknown_capability'
  | 'request_invalid';

/** Claims of a host's signed answer. */
export interface HostAnswerClaims {
  /** The request token's `jti`. */
  readonly in_reply_to: string;
  readonly action: string;
  readonly fence: number;
  /** Identity of the host's idempotency store: another one means that it has lost its memory. */
  readonly store_epoch: string;
  readonly outcome:
    | HostOutcome
    | {
        readonly kind: 'refused';
        readonly refusal: HostRefusal;
        readonly started: boolean;
        readonly highest_fence: number | null;
      };
}
