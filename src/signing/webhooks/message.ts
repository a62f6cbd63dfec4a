/** Builds the bytes that the vendor signed. */
import { crc32 } from 'node:zlib';
import { isLosslessNumber } from 'lossless-json';
import type { Unverified } from '../../domain/verification';
import type { CompiledMessage, CompiledPart } from './compile-message';
import type { HeaderRead } from './headers';
import { wireBytes } from './headers';
import { adyenItemText, contentfulText, hook0Text, snsText } from './message-shapes';
import { refuse } from './refusals';
import { pathOf } from './request';
import type { Fields, RequestView } from './view';
import { readField } from './view';

/** What a message is made of besides the request. */
export interface MessageContext {
  /** Exactly as received; empty where the scheme has none. */
  readonly timestamp: string;
  /** The pairs of the signature field. */
  readonly pairs: Fields;
  /** The item of a batch that this message is of. */
  readonly item?: unknown;
  /** `{config:key}` may also be a field of the request, as it asks for an answer. */
  readonly asks?: true;
}

export interface MessageBytes {
  readonly ok: true;
  /** In order, kept apart so that the body is not copied; null where the secret belongs. */
  readonly parts: readonly (Uint8Array | null)[];
}

export function messageBytes(
  message: CompiledMessage,
  view: RequestView,
  context: MessageContext,
): MessageBytes | Unverified {
  if (message.readsBody && view.repeatsKeys) {
    return refuse('unreadable_body', 'an object of the body names a key twice');
  }
  const parts: (Uint8Array | null)[] = [];
  for (const part of message.parts) {
    const bytes = partBytes(part, { message, view, context });
    if (bytes !== null && 'ok' in bytes) return bytes;
    parts.push(bytes);
  }
  return { ok: true, parts };
}

/** The message with a secret in its place. */
export function withSecret(parts: MessageBytes['parts'], secret: string): readonly Uint8Array[] {
  const bytes = Buffer.from(secret, 'utf8');
  return parts.map((part) => part ?? bytes);
}

interface Making {
  readonly message: CompiledMessage;
  readonly view: RequestView;
  readonly context: MessageContext;
}

function partBytes(part: CompiledPart, making: Making): Uint8Array | Unverified | null {
  const { view, context, message } = making;
  const { request } = view;
  switch (part.token) {
    case 'text':
      return part.bytes;
    case 'body':
      return request.body;
    case 'timestamp':
      return wireBytes(context.timestamp);
    case 'secret':
      return null;
    case 'method':
      return wireBytes(request.method.toUpperCase());
    case 'url':
      return wireBytes(view.url);
    case 'path':
      return wireBytes(pathOf(view.url));
    case 'crc32':
      return Buffer.from(String(crc32(request.body)));
    case 'id':
      return headerBytes(view.header(message.idHeader), message.idHeader, 'id');
    case 'header':
      return headerBytes(view.header(part.name), part.name, 'header');
    case 'json':
      return Buffer.from(view.text(part.name) ?? '', 'utf8');
    case 'config':
      return settingBytes(part.name, making);
    case 'query':
      return Buffer.from(firstOf(view.query, part.name) ?? '', 'utf8');
    case 'sorted_params':
      return sortedParams(message, view);
    case 'adyen_item':
    case 'sns':
    case 'contentful_headers':
    case 'hook0_headers':
      return shapedBytes(part.token, making);
  }
}

type Shaped = 'adyen_item' | 'sns' | 'contentful_headers' | 'hook0_headers';

function shapedBytes(token: Shaped, { message, view, context }: Making): Uint8Array | Unverified {
  switch (token) {
    case 'adyen_item':
      return Buffer.from(adyenItemText(context.item), 'utf8');
    case 'sns': {
      const text = snsText(view);
      return typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
    }
    case 'contentful_headers': {
      const text = contentfulText(view, message.timestampHeader);
      return typeof text === 'string' ? wireBytes(text) : text;
    }
    case 'hook0_headers': {
      const text = hook0Text(view, context.pairs, message.timestampHeader);
      return typeof text === 'string' ? wireBytes(text) : text;
    }
  }
}

function headerBytes(
  read: HeaderRead,
  name: string,
  kind: 'id' | 'header',
): Uint8Array | Unverified {
  if (read.found === 'several') return refuse(`repeated_${kind}`, `${name} has several values`);
  if (read.found === 'none' || read.text === '') {
    return refuse(`missing_${kind}`, `header ${name} is missing or empty`);
  }
  return wireBytes(read.text);
}

function settingBytes(name: string, { view, context }: Making): Uint8Array | Unverified {
  const text =
    settingText(view.request.settings, name) ?? (context.asks ? asked(view, name) : null);
  if (text !== null) return Buffer.from(text, 'utf8');
  return refuse('missing_setting', `the connection has no setting ${name}`);
}

/** A scalar setting of the connection as text; null where there is none of that name. */
export function settingText(
  settings: Readonly<Record<string, unknown>> | undefined,
  name: string,
): string | null {
  if (settings === undefined || !Object.hasOwn(settings, name)) return null;
  const value = settings[name];
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (isLosslessNumber(value)) return value.value;
  return typeof value === 'string' ? value : null;
}

/** The field of that name of a request that asks for an answer. */
export function asked(view: RequestView, name: string): string | null {
  return firstOf(view.query, name) ?? view.text(name);
}

function firstOf(fields: Fields, name: string): string | null {
  return fields.find(([key]) => key === name)?.[1] ?? null;
}

/** Where the query holds the body's hash, the form is covered by it and is not part of the message. */
function sortedParams(message: CompiledMessage, view: RequestView): Uint8Array | Unverified {
  const { bodyHashQuery, ownParam } = message;
  if (bodyHashQuery !== null && readField(view.query, bodyHashQuery).found !== 'none') {
    return Buffer.alloc(0);
  }
  if (view.form === null) {
    return refuse('unsigned_body', 'the body is no form, and no hash of it was signed');
  }
  const values = new Map<string, Set<string>>();
  for (const [name, value] of view.form) {
    if (name === ownParam) continue;
    const known = values.get(name);
    if (known === undefined) values.set(name, new Set([value]));
    else known.add(value);
  }
  const names = [...values.keys()].sort(byCodeUnits);
  const pieces = names.flatMap((name) =>
    [...(values.get(name) ?? [])].sort(byCodeUnits).map((value) => name + value),
  );
  return Buffer.from(pieces.join(''), 'utf8');
}

function byCodeUnits(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
