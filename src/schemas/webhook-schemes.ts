/**
 * A webhook scheme as data: which bytes were signed, with what, where the signature is, when it is
 * fresh, and what identifies the delivery (docs/architecture, "Webhook schemes are data"). What
 * this version cannot do is refused when the scheme is applied, with the field named.
 */
import { z } from 'zod';

export const HashName = z.enum(['sha1', 'sha256', 'sha384', 'sha512']);
export type HashName = z.infer<typeof HashName>;

export const KeyEncoding = z.enum(['utf8', 'hex', 'base64', 'whsec']);
export type KeyEncoding = z.infer<typeof KeyEncoding>;

export const SignatureEncoding = z.enum(['hex', 'base64', 'base64url']);
export type SignatureEncoding = z.infer<typeof SignatureEncoding>;

export const TimestampUnit = z.enum(['s', 'ms', 'iso']);
export type TimestampUnit = z.infer<typeof TimestampUnit>;

const HeaderName = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be a header name');
const JsonPath = z
  .string()
  .max(200)
  .regex(/^[^.]+(\.[^.]+)*$/, 'must be a JSON path such as data.items.0.id');
const Separator = z.string().min(1).max(8);

const inHeader = { location: z.literal('header'), name: HeaderName };
const inBody = { location: z.literal('body'), name: JsonPath };

export const SignatureField = z.discriminatedUnion('format', [
  z.strictObject({ ...inHeader, format: z.literal('raw'), encoding: SignatureEncoding }),
  z.strictObject({
    ...inHeader,
    format: z.literal('prefix'),
    prefix: z.string().min(1).max(32),
    encoding: SignatureEncoding,
  }),
  z.strictObject({
    ...inHeader,
    format: z.literal('pairs'),
    sep: Separator,
    eq: Separator,
    sig_keys: z.array(z.string().min(1)).min(1).max(10),
    encoding: SignatureEncoding,
  }),
]);
export type SignatureField = z.infer<typeof SignatureField>;

const timestampRest = {
  unit: TimestampUnit,
  tolerance_s: z.int().nonnegative().nullable(),
  tolerance_basis: z.string().optional(),
};
export const TimestampField = z.discriminatedUnion('location', [
  z.strictObject({ ...inHeader, ...timestampRest }),
  z.strictObject({
    location: z.literal('signature'),
    name: z.string().min(1).max(32),
    ...timestampRest,
  }),
]);
export type TimestampField = z.infer<typeof TimestampField>;

/** Where the key of the dedup window comes from; a SHA-256 of the body where the place is empty. */
export const DeliveryIdField = z.discriminatedUnion('location', [
  z.strictObject(inHeader),
  z.strictObject(inBody),
  z.strictObject({ location: z.literal('content') }),
]);
export type DeliveryIdField = z.infer<typeof DeliveryIdField>;

/** Where the event type is; of a list of JSON paths the first one with a value counts. */
export const EventTypeField = z.discriminatedUnion('location', [
  z.strictObject(inHeader),
  z.strictObject({
    location: z.literal('body'),
    name: z.union([JsonPath, z.array(JsonPath).min(1).max(5)]),
  }),
]);
export type EventTypeField = z.infer<typeof EventTypeField>;

const HmacScheme = z.strictObject({
  docs: z.url({ protocol: /^https$/ }).optional(),
  kind: z.literal('hmac'),
  hash: HashName,
  key_encoding: KeyEncoding,
  message: z.string().min(1).max(1000),
  signature: SignatureField,
  timestamp: TimestampField.optional(),
  id_header: HeaderName.optional(),
  delivery_id: DeliveryIdField.optional(),
  event_type: EventTypeField.optional(),
  kept_headers: z.array(HeaderName).max(50).optional(),
});

export const WebhookScheme = z
  .discriminatedUnion('kind', [HmacScheme])
  .superRefine((scheme, ctx) => {
    for (const { path, message } of contradictions(scheme)) {
      ctx.addIssue({ code: 'custom', path, message });
    }
  });
export type WebhookScheme = z.infer<typeof WebhookScheme>;

const plainTokens = ['body', 'timestamp', 'id', 'method', 'path', 'url'] as const;
type PlainToken = (typeof plainTokens)[number];

export type MessagePart =
  | { readonly token: 'text'; readonly text: string }
  | { readonly token: 'header'; readonly name: string }
  | { readonly token: PlainToken };

export type MessageTemplate =
  | { readonly ok: true; readonly parts: readonly MessagePart[] }
  | { readonly ok: false; readonly problem: string };

/** Splits a message template into literal text (backslash n is a line feed) and known tokens. */
export function parseMessageTemplate(template: string): MessageTemplate {
  const parts: MessagePart[] = [];
  for (const [piece] of template.matchAll(/\{[^{}]*\}|[^{}]+|[{}]/g)) {
    const part = /^[{}]/.test(piece) ? readToken(piece) : readText(piece);
    if (part === null) return { ok: false, problem: `unknown token ${piece}` };
    parts.push(part);
  }
  return { ok: true, parts };
}

function readText(piece: string): MessagePart {
  return { token: 'text', text: piece.replaceAll('\\n', '\n') };
}

function readToken(piece: string): MessagePart | null {
  const inner = piece.slice(1, -1);
  const plain = plainTokens.find((token) => token === inner);
  if (plain !== undefined) return { token: plain };
  const name = inner.startsWith('header:') ? inner.slice('header:'.length) : '';
  return HeaderName.safeParse(name).success ? { token: 'header', name } : null;
}

interface Contradiction {
  readonly path: (string | number)[];
  readonly message: string;
}

function contradictions(scheme: z.infer<typeof HmacScheme>): Contradiction[] {
  const template = parseMessageTemplate(scheme.message);
  if (!template.ok) return [{ path: ['message'], message: template.problem }];
  return [
    ...messageContradictions(scheme, template.parts),
    ...timestampContradictions(scheme, template.parts),
    ...signatureContradictions(scheme),
    ...keptHeaderContradictions(scheme),
  ];
}

function messageContradictions(
  scheme: WebhookScheme,
  parts: readonly MessagePart[],
): Contradiction[] {
  const uses = (token: MessagePart['token']) => parts.some((part) => part.token === token);
  const found: string[] = [];
  if (!uses('body')) found.push('has no {body}: the payload would not be signed');
  if (uses('timestamp') && !scheme.timestamp) found.push('has {timestamp}, the scheme has none');
  if (uses('id') && scheme.id_header === undefined)
    found.push('has {id}, but no id_header is given');
  return found.map((message) => ({ path: ['message'], message }));
}

function timestampContradictions(
  { timestamp, signature }: WebhookScheme,
  parts: readonly MessagePart[],
): Contradiction[] {
  if (!timestamp) return [];
  const found: Contradiction[] = [];
  if (timestamp.location === 'signature' && signature.format !== 'pairs') {
    found.push({ path: ['timestamp', 'location'], message: 'signature needs the format pairs' });
  }
  const isSigned = parts.some(
    (part) =>
      part.token === 'timestamp' ||
      (part.token === 'header' &&
        timestamp.location === 'header' &&
        part.name.toLowerCase() === timestamp.name.toLowerCase()),
  );
  // Anyone could refresh an unsigned timestamp, so a tolerance on it would promise nothing.
  if (timestamp.tolerance_s !== null && !isSigned) {
    const message = 'needs a signed timestamp, but the message has no {timestamp}';
    found.push({ path: ['timestamp', 'tolerance_s'], message });
  }
  return found;
}

function signatureContradictions({ signature }: WebhookScheme): Contradiction[] {
  if (signature.format !== 'pairs' || signature.sep !== signature.eq) return [];
  return [{ path: ['signature', 'eq'], message: 'must differ from sep' }];
}

// Credentials must not be stored; the others belong to one connection or to our own signature.
const neverKept = new Set([
  ...['authorization', 'proxy-authorization', 'cookie', 'set-cookie'],
  ...['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding'],
  ...['te', 'trailer', 'upgrade', 'webhook-id', 'webhook-timestamp', 'webhook-signature'],
]);

function keptHeaderContradictions({ kept_headers, signature }: WebhookScheme): Contradiction[] {
  return (kept_headers ?? []).flatMap((name, index) => {
    const lower = name.toLowerCase();
    if (!neverKept.has(lower) && lower !== signature.name.toLowerCase()) return [];
    return [{ path: ['kept_headers', index], message: `${name} is never kept` }];
  });
}
