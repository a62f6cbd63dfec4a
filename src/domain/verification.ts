/**
 * What the verification of a webhook request can say, and the rule of freshness. Pure: no clock is
 * read here; at ingress the database applies the same rule with its own clock.
 */

/** Every reason for which a request is not verified. Stored with a rejected delivery. */
export const verificationReasons = [
  'missing_signature',
  'empty_signature',
  'repeated_signature',
  'malformed_signature',
  'too_many_signatures',
  'signature_mismatch',
  'missing_timestamp',
  'repeated_timestamp',
  'malformed_timestamp',
  'missing_id',
  'repeated_id',
  'missing_header',
  'repeated_header',
  'unsigned_timestamp',
  'unsigned_body',
  'unreadable_body',
  'body_hash_mismatch',
  'claim_mismatch',
  'algorithm_refused',
  'untrusted_certificate',
  'missing_setting',
  'no_active_secret',
  'unusable_secret',
] as const;

export type VerificationReason = (typeof verificationReasons)[number];

/**
 * The reasons that are the receiver's own fault: its configured secrets and settings, not what the
 * sender sent.
 * An ingress answers these as temporarily unavailable, so that the vendor sends again.
 */
export const receiverFaults: ReadonlySet<VerificationReason> = new Set([
  'missing_setting',
  'no_active_secret',
  'unusable_secret',
]);

/** How far the receipt may lie from the signed instant, ms, both edges included. */
export interface FreshnessLimits {
  /** Receipt after signing: how old. May be negative where the vendor's claims contradict each other. */
  readonly behindMs: number;
  /** Receipt before signing: how far ahead. */
  readonly aheadMs: number;
}

export interface Verified {
  readonly ok: true;
  /** Which configured secret the signature matched. */
  readonly secretId: string;
  /** The signed instant, ms since the epoch; null where the scheme has no timestamp. */
  readonly signedAtMs: number | null;
  /** Null = the vendor defines no tolerance: freshness is not judged. */
  readonly limits: FreshnessLimits | null;
}

export interface Unverified {
  readonly ok: false;
  readonly reason: VerificationReason;
  /** One line for a person; never holds a secret or a signature. */
  readonly detail: string;
}

export type Verification = Verified | Unverified;

/** However large the tolerance, a timestamp may lie at most this far ahead of the receipt. */
export const maxAheadMs = 60_000;

/** The limits that a tolerance in seconds sets: both ways, but at most 60 s ahead. */
export function limitsOf(toleranceS: number): FreshnessLimits {
  const behindMs = toleranceS * 1000;
  return { behindMs, aheadMs: Math.min(behindMs, maxAheadMs) };
}

export interface Freshness {
  readonly fresh: boolean;
  /** Receipt minus signing, ms: positive = signed in the past. */
  readonly skewMs: number;
}

/**
 * Judges a signed instant as of receipt (docs/architecture, "Freshness"), both edges included. Limits
 * of null mean that the vendor defines none: always fresh. An instant that is not a number is never
 * fresh.
 */
export function freshness(
  signedAtMs: number,
  limits: FreshnessLimits | null,
  receivedAtMs: number,
): Freshness {
  const skewMs = receivedAtMs - signedAtMs;
  if (limits === null) return { fresh: true, skewMs };
  return { fresh: skewMs <= limits.behindMs && skewMs >= -limits.aheadMs, skewMs };
}
