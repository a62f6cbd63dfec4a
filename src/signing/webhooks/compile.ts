import {
  parseMessageTemplate,
  type MessagePart,
  type WebhookScheme,
} from '../../schemas/webhook-schemes';
import type { SecretReader } from './kinds';
import { hmacReader } from './kinds/hmac';

export type CompiledPart =
  { readonly token: 'text'; readonly bytes: Uint8Array } | Exclude<MessagePart, { token: 'text' }>;

/** A scheme made ready for many requests. */
export interface CompiledScheme {
  readonly scheme: WebhookScheme;
  readonly message: readonly CompiledPart[];
  readonly readSecret: SecretReader;
}

const readers: {
  [K in WebhookScheme['kind']]: (scheme: WebhookScheme & { kind: K }) => SecretReader;
} = { hmac: hmacReader };

/**
 * Prepares a parsed scheme once. Throws only for a scheme that its schema would have refused, which
 * is a fault of the program.
 */
export function compileScheme(scheme: WebhookScheme): CompiledScheme {
  const template = parseMessageTemplate(scheme.message);
  if (!template.ok) throw new Error(`a scheme was not parsed before use: ${template.problem}`);
  return {
    scheme,
    message: template.parts.map(compilePart),
    readSecret: readers[scheme.kind](scheme),
  };
}

function compilePart(part: MessagePart): CompiledPart {
  return part.token === 'text' ? { token: 'text', bytes: Buffer.from(part.text, 'utf8') } : part;
}
