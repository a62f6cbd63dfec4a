/** A vendor that posts webhooks signed by GitHub's scheme. */
import { createHmac } from 'node:crypto';

export interface VendorPost {
  /** The API's base URL. */
  readonly url: string;
  readonly ingressRef: string;
  readonly secret: string;
  /** The vendor's delivery id. */
  readonly id: string;
  readonly body?: string;
  readonly event?: string;
}

export function postWebhook(post: VendorPost): Promise<Response> {
  const body = post.body ?? JSON.stringify({ id: post.id });
  const signature = createHmac('sha256', post.secret).update(body).digest('hex');
  return fetch(`${post.url}/webhooks/${post.ingressRef}`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-hub-signature-256': `sha256=${signature}`,
      'x-github-delivery': post.id,
      'x-github-event': post.event ?? 'push',
    },
  });
}
