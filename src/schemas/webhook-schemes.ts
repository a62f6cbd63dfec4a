/**
 * A webhook scheme as data: which bytes were signed, with what, where the signature is, when it is
 * fresh, what identifies the delivery, and which requests are answered instead of delivered
 * (docs/architecture, "Webhook schemes are data"). What cannot hold is refused when the scheme is
 * applied, with the field named.
 */
import type { z } from 'zod';
import { contradictions } from './webhook-schemes/contradictions';
import { SchemeFields } from './webhook-schemes/kinds';

/** The language whole: also a scheme that only says what must be answered (`location: response`). */
export const SignatureScheme = SchemeFields.superRefine((scheme, ctx) => {
  for (const { path, message } of contradictions(scheme)) {
    ctx.addIssue({ code: 'custom', path, message });
  }
});

/** What a connector can receive with. */
export const WebhookScheme = SignatureScheme.superRefine(({ signature }, ctx) => {
  if (signature.location !== 'response') return;
  const message = 'verifies no delivery; put this signature into a handshake';
  ctx.addIssue({ code: 'custom', path: ['signature', 'location'], message });
});
export type WebhookScheme = z.infer<typeof WebhookScheme>;

/** A scheme of a kind that signs a message. */
export type MessageScheme = Extract<WebhookScheme, { message: string }>;
