/**
 * The request that a target receives for one attempt: the stored bytes, the vendor's non-secret
 * headers, what Waybill knows of the delivery, and a fresh Standard Webhooks signature.
 */
import { signStandardWebhook } from '../signing/webhooks/standard-sign';
import type { OpenedAttempt } from '../schemas/delivery-rows';

export interface DispatchRequest {
  readonly deliveryId: string;
  readonly opened: OpenedAttempt;
  /** Secrets of the target, newest first; empty: the target asked for no signature. */
  readonly secrets: readonly string[];
  /** When this attempt is sent, ms since the epoch. */
  readonly sentAtMs: number;
}

/**
 * Headers of the call, names in lower case. Waybill's own win over a vendor's of the same name. The
 * delivery id is the same in every attempt and replay: the receiver's key against duplicates.
 */
export function dispatchHeaders(dispatch: DispatchRequest): Record<string, string> {
  const { deliveryId: id, secrets, sentAtMs } = dispatch;
  const { info, payload } = dispatch.opened;
  const headers: Record<string, string> = {};
  for (const [name, value] of info.keptHeaders) headers[name.toLowerCase()] = value;
  if (info.contentType !== null) headers['content-type'] = info.contentType;
  headers['user-agent'] = 'waybill';
  headers['waybill-delivery-id'] = id;
  headers['waybill-event-type'] = headerText(info.eventType);
  headers['waybill-received-at'] = info.receivedAt;
  headers['waybill-attempt'] = String(info.attempt);
  headers['waybill-replay'] = String(info.series - 1);
  if (secrets.length === 0) return headers;
  return Object.assign(headers, signStandardWebhook({ id, sentAtMs, body: payload, secrets }));
}

/** A vendor's word as a header can hold it: what is not printable ASCII is percent-encoded. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]+/gu, encodeURIComponent);
}
