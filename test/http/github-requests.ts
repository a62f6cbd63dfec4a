/** Requests as GitHub signs them. */
import { createHmac, randomUUID } from 'node:crypto';

export const SECRET = 'it is a secret to everybody';

export function githubHeaders(
  body: Uint8Array,
  options: { readonly id?: string; readonly event?: string; readonly secret?: string } = {},
): Record<string, string> {
  return {
    'x-github-delivery': options.id ?? randomUUID(),
    'x-github-event': options.event ?? 'push',
    'x-hub-signature-256': `sha256=${sign(body, options.secret ?? SECRET)}`,
  };
}

export function sign(body: Uint8Array, secret: string): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
