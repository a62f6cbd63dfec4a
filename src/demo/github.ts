/** Sends a webhook as GitHub does. */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { Problem } from '../schemas/api-problems';
import { IngressAnswer } from '../schemas/api-ingress';
import type { Payload } from './payloads';

export interface GithubWebhook {
  readonly url: string;
  readonly payload: Payload;
  /** X-GitHub-Delivery: the same for every redelivery of one event. */
  readonly guid: string;
  readonly secret: string;
}

export type WebhookReply =
  | { readonly kind: 'taken'; readonly status: number; readonly answer: IngressAnswer }
  | { readonly kind: 'refused'; readonly status: number; readonly code: string };

const TIMEOUT_MS = 15_000;

/** Posts it; answers what the ingress said. Rejects when there is no answer that one can read. */
export async function postWebhook(webhook: GithubWebhook): Promise<WebhookReply> {
  const { payload, guid, secret } = webhook;
  const signature = createHmac('sha256', secret).update(payload.body).digest('hex');
  const response = await fetch(webhook.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/044aadd',
      'x-github-delivery': guid,
      'x-github-event': payload.event,
      'x-github-hook-id': '109948940',
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body: new Uint8Array(payload.body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { status } = response;
  const content: unknown = await response.json();
  if (response.ok) return { kind: 'taken', status, answer: IngressAnswer.parse(content) };
  const { code } = z.object({ code: Problem.shape.code }).parse(content);
  return { kind: 'refused', status, code };
}
