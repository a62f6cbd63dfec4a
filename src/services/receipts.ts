/**
 * Appending to a delivery's receipt chain. A receipt is signed over the chain's head as it was read;
 * the database refuses it when the head has moved, and it is signed again.
 */
import type { DeliveryRef } from '../domain/delivery-activities';
import { WaybillError } from '../domain/errors';
import type {
  DeliveryReceiptBody,
  ReceiptCommonData,
  ReceiptEnvelope,
  ReceiptRow,
} from '../domain/receipts';
import type { DeliveryFacts } from '../schemas/delivery-rows';
import type { SigningKey } from '../signing/keys';
import { receiptDigest, signReceipt } from '../signing/receipts/sign';

export interface NextReceipt {
  readonly ref: DeliveryRef;
  /** The chain's head, and what the receipt is about. */
  readonly facts: DeliveryFacts;
  /** When it happened, ms since the epoch on the database's clock. */
  readonly atMs: number;
  readonly body: DeliveryReceiptBody;
}

/** Signs the next receipt of a delivery's chain. */
export function nextReceipt(key: SigningKey, { ref, facts, atMs, body }: NextReceipt): ReceiptRow {
  const seq = facts.receiptSeq + 1;
  const envelope: ReceiptEnvelope = {
    iss: 'waybill',
    v: 1,
    tenant: ref.tenantId,
    subject: `delivery/${ref.deliveryId}`,
    seq,
    prev: facts.receiptDigest,
    at: new Date(atMs).toISOString(),
  };
  const jws = signReceipt(Object.assign(envelope, body), key);
  return {
    kind: body.kind,
    seq,
    previousDigest: facts.receiptDigest,
    jws,
    digest: receiptDigest(jws),
  };
}

/** What every receipt of a delivery says. */
export function commonData(ref: DeliveryRef, facts: DeliveryFacts): ReceiptCommonData {
  return {
    deliveryId: ref.deliveryId,
    direction: facts.direction,
    connectorId: facts.connectorId,
    subscriptionId: facts.subscriptionId,
    payloadSha256: facts.payloadSha256,
    payloadBytes: facts.payloadBytes,
    externalId: facts.externalId ?? facts.payloadSha256,
    eventType: facts.eventType,
  };
}

/** A chain moves only when somebody else writes to the same delivery: a few tries always suffice. */
const CHAIN_TRIES = 5;

/**
 * Writes with a receipt until the chain stands still: `write` gets a receipt over the newest facts
 * and answers what the database said.
 */
export async function withReceipt<Answer extends { readonly answer: string }>(
  facts: DeliveryFacts,
  sign: (facts: DeliveryFacts) => ReceiptRow,
  write: (
    receipt: ReceiptRow,
  ) => Promise<Answer | { readonly answer: 'chain_moved'; readonly facts: DeliveryFacts }>,
): Promise<Exclude<Answer, { readonly answer: 'chain_moved' }>> {
  let head = facts;
  for (let attempt = 1; attempt <= CHAIN_TRIES; attempt += 1) {
    const answer = await write(sign(head));
    if (!isMoved(answer)) return answer as Exclude<Answer, { readonly answer: 'chain_moved' }>;
    head = answer.facts;
  }
  throw new WaybillError('internal', 'a receipt chain kept moving');
}

function isMoved(answer: {
  readonly answer: string;
}): answer is { readonly answer: 'chain_moved'; readonly facts: DeliveryFacts } {
  return answer.answer === 'chain_moved';
}
