/**
 * What Waybill and a connector host say to each other (docs/host-protocol). A request carries a route
 * token, an answer is signed by the host; both are compact JWS (EdDSA).
 */
import type { RecoveryKind, SideEffect } from './capabilities';
import type { Topology } from './routes';

/** What a token permits: nothing else may be done with it. */
export const TOKEN_PURPOSES = ['execute', 'reconcile', 'cancel', 'read'] as const;
export type TokenPurpose = (typeof TOKEN_PURPOSES)[number];

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
  /**
   * The host's store when the action was first sent to it. A host with another one has lost its
   * memory and refuses, so that an action is not begun twice. Null where nothing was sent before. A
   * reconcile that brings the request along names the store that is asked: it is told what to look for.
   */
  readonly store_epoch: string | null;
  /**
   * How long ago the action was last sent to a host, in milliseconds: a duration, because no two clocks
   * agree. Null where it was never sent.
   */
  readonly sent_ago_ms: number | null;
  /**
   * Of an `execute`: a person is certain that what was begun under lower fences had no effect, and that
   * none is under way. The host takes such an intent back and begins.
   */
  readonly begin_anew: boolean;
  readonly topology: Topology;
  /** The host refuses a lower one than it has stored for the action. */
  readonly fence: number;
  readonly catalog_revision: number;
  readonly binding_policy_revision: number;
  readonly credential_revision: string;
  readonly quota_policy: string | null;
  readonly approval: string | null;
  readonly purpose: TokenPurpose;
  /** SHA-256 (hex) of the request body. */
  readonly body_sha256: string;
}

/** A token's claims as they travel. Instants are seconds since the epoch, as JWT has them. */
export interface RouteToken extends RouteTokenClaims {
  readonly iss: string;
  /** `did:key` of the host. */
  readonly aud: string;
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
}

/** An outcome after which nothing more happens: it is stored, and every later call gets it. */
export type FinalOutcome =
  /** The effect is there; `result` is the capability's result. */
  | { readonly kind: 'succeeded'; readonly result: unknown }
  /** The provider refused for good; nothing will change by trying again. */
  | { readonly kind: 'failed'; readonly errorCode: string; readonly detail: string }
  /** Stopped, or never begun, without an effect; it can never begin any more. */
  | { readonly kind: 'cancelled' };

/** How far a host says it is: its own word, for people. It proves nothing. */
export interface Progress {
  /** One printed line. */
  readonly note: string;
  /** A whole number from 0 to 100; null where nobody can tell. */
  readonly percent: number | null;
}

/** A longer note is cut. */
export const PROGRESS_NOTE_CHARS = 500;

/** What a host answers to execute, reconcile, cancel and read. */
export type HostOutcome =
  | FinalOutcome
  | { readonly kind: 'running'; readonly progress: Progress | null }
  /** Nothing began and, under this fence, nothing will: the seal. To `read`: nothing is known. */
  | { readonly kind: 'not_started' }
  /**
   * The host cannot tell. Where the capability's recovery is `provider_key`, another `execute` is safe
   * and clears it up; `lookup` may find out at a later `reconcile`; `none` never will.
   */
  | { readonly kind: 'unknown' };

/** Why a host refuses a request. */
export const HOST_REFUSALS = [
  'token_invalid',
  'token_expired',
  'token_replayed',
  'wrong_audience',
  'wrong_body',
  'wrong_coordinates',
  'credential_revoked',
  /** The action was sent to a store that is gone: what became of it cannot be told here. */
  'store_lost',
  'stale_fence',
  'draining',
  'unknown_capability',
  'request_invalid',
  /** The action is known with another capability or another body. */
  'request_conflict',
  /** The provider has told the host to wait: the action has to be sent again later. */
  'rate_limited',
] as const;
export type HostRefusal = (typeof HOST_REFUSALS)[number];

export interface RefusedAnswer {
  readonly kind: 'refused';
  readonly refusal: HostRefusal;
  /** False is proof that nothing of the action has begun; true, that it cannot be excluded. */
  readonly started: boolean;
  /** The highest fence stored for the action, where the token could be believed. */
  readonly highest_fence: number | null;
  /** Of `rate_limited`: how long the provider wants to be left alone, in milliseconds. */
  readonly retry_after_ms?: number | undefined;
}

export type HostVerdict = HostOutcome | RefusedAnswer;

/** Claims of a host's signed answer. */
export interface HostAnswerClaims {
  /** `did:key` of the host. */
  readonly iss: string;
  /** Seconds since the epoch on the host's clock; for people. */
  readonly iat: number;
  /** The request token's `jti`; this and the next three are null where the token was not readable. */
  readonly in_reply_to: string | null;
  readonly tenant: string | null;
  readonly action: string | null;
  readonly fence: number | null;
  /** SHA-256 (hex) of the token and of the body as received: they bind the answer to one request. */
  readonly token_sha256: string;
  readonly body_sha256: string;
  /** Identity of the host's idempotency store: another one means that it has lost its memory. */
  readonly store_epoch: string;
  readonly outcome: HostVerdict;
}

/** What a host's manifest says of a capability. */
export interface ManifestCapability {
  readonly capabilityId: string;
  readonly interfaceName: string;
  readonly sideEffect: SideEffect;
  readonly recovery: RecoveryKind;
  readonly requestSchema: unknown;
  readonly resultSchema: unknown;
  /** How long an answer may take; the host says `running` before. */
  readonly timeoutMs: number;
}

/** What a host is, the same for all hosts of a connector version. */
export interface HostManifest {
  readonly protocol: 1;
  readonly connectorId: string;
  readonly version: string;
  readonly capabilities: readonly ManifestCapability[];
}

export const LIFECYCLE_OPERATIONS = ['register', 'heartbeat', 'drain', 'offline'] as const;
export type LifecycleOperation = (typeof LIFECYCLE_OPERATIONS)[number];

/** Claims of a host's signed lifecycle call. */
export interface LifecycleClaims {
  /** `did:key` of the host. */
  readonly iss: string;
  /** The replica. */
  readonly sub: string;
  /** The lifecycle service that is spoken to. */
  readonly aud: string;
  readonly iat: number;
  readonly exp: number;
  readonly operation: LifecycleOperation;
  /** The same for each repetition of a call whose answer was lost. */
  readonly request_id: string;
  readonly previous_sequence: number;
  readonly store_epoch: string;
  readonly manifest_digest: string;
  readonly healthy: boolean;
  /** Actions under way. */
  readonly in_flight: number;
}
