/**
 * Receipts: one signed chain per delivery and per action, each entry naming the digest of the one
 * before. The payload holds scalars only, so that anyone can check a chain offline with the public keys.
 */
import type { ActionRef } from './action-service';
import type { ActionResult, Settlement } from './routes';

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

export type DeliveryReceiptBody =
  | { readonly kind: 'acknowledged'; readonly data: AcknowledgedData }
  | { readonly kind: 'failed'; readonly data: FailedData }
  | { readonly kind: 'replayed'; readonly data: ReplayedData };

/**
 * What the receipts of an action attest. `action_completed`, `action_failed`, `action_cancelled`: it is
 * closed. `attempt_settled`: a dispatch ended without a result; `attempt_withdrawn`: nothing of it was sent;
 * `attempt_lost`: its sender is lost, and nobody knows. `host_found`: what a question about it has brought
 * to light. `cancel_requested`, `action_retried`, `action_repinned`, `approval_given`: what a person has
 * decided.
 */
export const ACTION_RECEIPTS = [
  'action_completed',
  'action_failed',
  'action_cancelled',
  'attempt_settled',
  'attempt_withdrawn',
  'attempt_lost',
  'host_found',
  'cancel_requested',
  'action_retried',
  'action_repinned',
  'approval_given',
] as const;
export type ActionReceiptKind = (typeof ACTION_RECEIPTS)[number];

/** What a receipt of an action says beside its kind; null: it does not apply, or is not known. */
export interface ActionReceiptFacts {
  readonly attempt: number | null;
  readonly fence: number | null;
  /** The host that was sent to or asked. */
  readonly replicaId: string | null;
  readonly settlement: Settlement | null;
  /** Of `host_found`. */
  readonly finding: 'not_started' | 'repeatable' | 'needs_operator' | null;
  readonly errorCode: string | null;
  readonly resultSha256: string | null;
  /** The person who decided; null: a host's word or Waybill's own rules did. */
  readonly by: string | null;
  readonly reason: string | null;
  /** The approval under which it may be sent; null: it needs none, or has none. */
  readonly approval: string | null;
}

export interface ActionReceiptData extends ActionReceiptFacts {
  readonly actionId: string;
  readonly capabilityId: string;
  readonly requestSha256: string;
}

export interface ActionReceiptBody {
  readonly kind: ActionReceiptKind;
  readonly data: ActionReceiptData;
}

export type ReceiptBody = DeliveryReceiptBody | ActionReceiptBody;

export interface ReceiptEnvelope {
  readonly iss: 'waybill';
  readonly v: 1;
  readonly tenant: string;
  readonly subject: `${'delivery' | 'action'}/${string}`;
  /** 1 for the first receipt of the subject, then without a gap. */
  readonly seq: number;
  /** SHA-256 (hex) of the previous receipt's compact JWS; null for the first. */
  readonly prev: string | null;
  /** ISO 8601 instant. */
  readonly at: string;
}

export type ReceiptPayload = ReceiptEnvelope & ReceiptBody;

/** A signed receipt, as it is appended. */
export interface ReceiptRow {
  readonly kind: string;
  readonly seq: number;
  readonly previousDigest: string | null;
  readonly jws: string;
  readonly digest: string;
}

/** The receipt that a step of an action is due, and the head of the chain that it is to go on. */
export interface WantedActionReceipt {
  readonly kind: ActionReceiptKind;
  readonly capabilityId: string;
  readonly requestSha256: string;
  /** What is recorded already; null: nothing. */
  readonly result: ActionResult | null;
  /** That it has already. */
  readonly approval: string | null;
  readonly receiptSeq: number;
  readonly receiptDigest: string | null;
  /** ISO 8601, the database's clock. */
  readonly now: string;
}

export type SignActionReceipt = (wanted: WantedActionReceipt) => Promise<ReceiptRow>;

/** Makes the signer of one step: of which action, and what is known of what happens to it. */
export type ActionSigner = (
  ref: ActionRef,
  about: Partial<ActionReceiptFacts>,
) => SignActionReceipt;
