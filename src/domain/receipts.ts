/**
 * Receipts: one signed chain per delivery, each entry naming the digest of the one before. The
 * payload holds scalars only, so that anyone can check a chain offline with the public keys.
 */

export interface ReceiptCommonData {
  readonly deliveryId: string;
  readonly direction: 'inbound' | 'outbound';
  readonly connectorId: string;
  /** Null for an outbound delivery, which no subscription asked for. */
  readonly subscriptionId: string | null;
  readonly payloadSha256: string;
  readonly payloadBytes: number;
  readonly externalId: string;
  readonly eventType: string | null;
}

export interface AcknowledgedData extends ReceiptCommonData {
  readonly attempt: number;
  readonly fence: number;
  /** Null for an outbound delivery, whose target is the vendor. */
  readonly targetId: string | null;
  readonly targetKind: string;
  /** The answer's HTTP status; null where the target does not speak HTTP. */
  readonly status: number | null;
  readonly answerSha256: string | null;
  readonly startedAt: string;
  readonly durationMs: number;
}

export interface FailedData extends ReceiptCommonData {
  /** How many attempts were made. */
  readonly attempts: number;
  readonly reason: string;
  readonly lastStatus: number | null;
}

export interface ReplayedData extends ReceiptCommonData {
  readonly replayedBy: string;
  readonly reason: string;
  /** The attempt series that this replay opens. */
  readonly series: number;
}

export type ReceiptBody =
  | { readonly kind: 'acknowledged'; readonly data: AcknowledgedData }
  | { readonly kind: 'failed'; readonly data: FailedData }
  | { readonly kind: 'replayed'; readonly data: ReplayedData };

export interface ReceiptEnvelope {
  readonly iss: 'waybill';
  readonly v: 1;
  readonly tenant: string;
  readonly subject: `delivery/${string}`;
  /** 1 for the first receipt of the subject, then without a gap. */
  readonly seq: number;
  /** SHA-256 (hex) of the previous receipt's compact JWS; null for the first. */
  readonly prev: string | null;
  /** ISO 8601 instant. */
  readonly at: string;
}

export type ReceiptPayload = ReceiptEnvelope & ReceiptBody;
