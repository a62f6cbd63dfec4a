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
  'no_active_secret',
  'unusable_secret',
] as const;

export type VerificationReason = (typeof verificationReasons)[number];

/**
 * The reasons that are the receiver's own fault: its configured secrets, not what the sender sent.
 * An ingress answers these as temporarily unavailable, so that the vendor sends again.
 */
export const receiverFaults: ReadonlySet<VerificationReason> = new Set([
  'no_active_secret',
  'unusable_secret',
]);

export interface Verified {
  readonly ok: true;
  /** Which configured secret the signature matched. */
  readonly secretId: string;
  /** The signed instant, ms since the epoch; null where the scheme has no timestamp. */
  readonly signedAtMs: number | null;
  /** The scheme's timestamp tolerance in seconds; null = freshness is not judged. */
  readonly toleranceS: number | null;
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

export interface Freshness {
  readonly fresh: boolean;
  /** Receipt minus signing, ms: positive = signed in the past. */
  readonly skewMs: number;
}

/**
 * Judges a signed instant as of receipt (docs/architecture, "Freshness"): at most `toleranceS`
 * seconds old, at most the smaller of `toleranceS` and 60 s ahead, both edges included. A tolerance
 * of null means that the vendor defines none: always fresh. An instant that is not a number is
 * never fresh.
 */
export function freshness(
  signedAtMs: number,
  toleranceS: number | null,
  receivedAtMs: number,
): Freshness {
  const skewMs = receivedAtMs - signedAtMs;
  if (toleranceS === null) return { fresh: true, skewMs };
  const toleranceMs = toleranceS * 1000;
  const aheadMs = Math.min(toleranceMs, maxAheadMs);
  return { fresh: skewMs <= toleranceMs && skewMs >= -aheadMs, skewMs };
}
