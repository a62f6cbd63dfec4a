import { createHmac } from 'node:crypto';
import { decodeKey } from './encodings';

export interface OutgoingWebhook {
  /** The same for every attempt of one delivery: the receiver's dedup key. */
  readonly id: string;
  /** When this attempt is sent, ms since the epoch. */
  readonly sentAtMs: number;
  /** The bytes that will be sent. */
  readonly body: Uint8Array;
  /** `whsec_` and Base64; several while a secret is rotated. */
  readonly secrets: readonly string[];
}

export interface StandardWebhookHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * Signs an outgoing request by Standard Webhooks 1.0, with one `v1` signature a secret, so that a
 * receiver that knows the old or the new one accepts it. Throws, without quoting it, where a secret
 * is no key or there is none: nothing is ever sent unsigned.
 */
export function signStandardWebhook(webhook: OutgoingWebhook): StandardWebhookHeaders {
  const timestamp = String(Math.floor(webhook.sentAtMs / 1000));
  if (webhook.secrets.length === 0) throw new Error('no signing secret is configured');
  const signatures = webhook.secrets.map((secret) => {
    const key = decodeKey('whsec', secret);
    if (key === null) throw new Error('a signing secret is not a whsec_ key');
    const hmac = createHmac('sha256', key).update(`${webhook.id}.${timestamp}.`);
    return `v1,${hmac.update(webhook.body).digest('base64')}`;
  });
  return {
    'webhook-id': webhook.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
