/** Message templates: literal text and tokens that stand for parts of a request. */
import { FieldName, HeaderName, JsonPath } from './fields';

const plainTokens = [
  ...(['body', 'timestamp', 'id', 'method', 'path', 'url', 'secret', 'crc32'] as const),
  ...(['sorted_params', 'adyen_item', 'sns', 'contentful_headers', 'hook0_headers'] as const),
] as const;
export type PlainToken = (typeof plainTokens)[number];

const namedTokens = { header: HeaderName, json: JsonPath, config: FieldName, query: FieldName };
export type NamedToken = keyof typeof namedTokens;

export type MessagePart =
  | { readonly token: 'text'; readonly text: string }
  | { readonly token: NamedToken; readonly name: string }
  | { readonly token: PlainToken };

/** Of an answer to a handshake: what the request says, what the connection says, and our signature. */
export type AnswerPart =
  | { readonly token: 'text'; readonly text: string }
  | { readonly token: NamedToken; readonly name: string }
  | { readonly token: 'signature' };

export type Template<Part> =
  | { readonly ok: true; readonly parts: readonly Part[] }
  | { readonly ok: false; readonly problem: string };

export type MessageTemplate = Template<MessagePart>;

/** Splits a message template into literal text (backslash n is a line feed) and known tokens. */
export function parseMessageTemplate(template: string): MessageTemplate {
  return parseTemplate(template, (inner): MessagePart | null => {
    const plain = plainTokens.find((token) => token === inner);
    if (plain !== undefined) return { token: plain };
    const named = readNamed(inner);
    // A signed query parameter is part of {url} and {path}; by itself it is a handshake's matter.
    return named?.token === 'query' ? null : named;
  });
}

/**
 * Splits the body of a handshake's answer. Braces are ordinary text there unless they hold a token:
 * an answer may be JSON.
 */
export function parseAnswerTemplate(template: string): Template<AnswerPart> {
  const parts: AnswerPart[] = [];
  for (const [piece] of template.matchAll(/\{[a-z]+(?::[^{}\s]*)?\}|[^{]+|\{/g)) {
    const inner = /^\{.+\}$/.test(piece) ? piece.slice(1, -1) : null;
    if (inner === null) {
      parts.push({ token: 'text', text: piece });
      continue;
    }
    const part: AnswerPart | null =
      inner === 'signature' ? { token: 'signature' } : readNamed(inner);
    if (part === null) return { ok: false, problem: `unknown token ${piece}` };
    parts.push(part);
  }
  return { ok: true, parts };
}

function parseTemplate<Part>(
  template: string,
  read: (inner: string) => Part | null,
): Template<Part | { readonly token: 'text'; readonly text: string }> {
  const parts: (Part | { readonly token: 'text'; readonly text: string })[] = [];
  for (const [piece] of template.matchAll(/\{[^{}]*\}|[^{}]+|[{}]/g)) {
    if (!/^[{}]/.test(piece)) {
      parts.push({ token: 'text', text: piece.replaceAll('\\n', '\n') });
      continue;
    }
    const part = read(piece.slice(1, -1));
    if (part === null) return { ok: false, problem: `unknown token ${piece}` };
    parts.push(part);
  }
  return { ok: true, parts };
}

function readNamed(inner: string): { token: NamedToken; name: string } | null {
  const colon = inner.indexOf(':');
  if (colon < 0) return null;
  const kind = inner.slice(0, colon);
  const name = inner.slice(colon + 1);
  const token = (Object.keys(namedTokens) as NamedToken[]).find((known) => known === kind);
  return token !== undefined && namedTokens[token].safeParse(name).success ? { token, name } : null;
}
