/**
 * The request by which an operation is sent over HTTP: filled from payload and configuration, before any
 * secret is read. What is filled in can neither leave its place in the address nor end a header.
 */
import { isLosslessNumber, stringify } from 'lossless-json';
import { valueAt } from '../domain/json-pointer';
import { parsedJson } from '../schemas/json-bytes';
import { isShallow, MAX_NESTING } from '../schemas/nesting';
import type { HttpOperation } from '../schemas/outbound';
import type { TextPart, TextPlace } from '../schemas/text-templates';
import { placeText, textParts, urlParts } from '../schemas/text-templates';
import { buildRequest } from './action-request';

export interface SendingMaterial {
  readonly payload: Uint8Array;
  readonly contentType: string | null;
  /** The connection's configuration; null: none. */
  readonly config: Readonly<Record<string, unknown>> | null;
}

export interface VendorRequest {
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Null: the method has none. */
  readonly body: Uint8Array | null;
}

export type BuiltVendorRequest =
  | { readonly kind: 'built'; readonly request: VendorRequest }
  /** One sentence; no value of payload or configuration is in it. */
  | { readonly kind: 'unfit'; readonly problem: string };

const MAX_URL = 8_000;
const MAX_HEADER = 2_000;

/** Everything but authorization, signature and idempotency key. */
export function vendorRequest(
  operation: HttpOperation,
  material: SendingMaterial,
): BuiltVendorRequest {
  try {
    const sources = new Sources(material);
    const { body, contentType } = bodyOf(operation, material, sources);
    const url = filledUrl(operation.url, sources);
    const headers = Object.entries(operation.headers).map(
      ([name, text]) => [name, filledHeader(text, sources)] as const,
    );
    const typed = body === null || contentType === null ? {} : { 'content-type': contentType };
    const request = { url, headers: { ...typed, ...Object.fromEntries(headers) }, body };
    return { kind: 'built', request };
  } catch (error) {
    if (error instanceof Unfit) return { kind: 'unfit', problem: error.message };
    throw error;
  }
}

/** A header's text: of an operation's own, or of the user name of basic authentication. */
export function filledText(text: string, material: SendingMaterial): string | null {
  try {
    return filledHeader(text, new Sources(material));
  } catch (error) {
    if (error instanceof Unfit) return null;
    throw error;
  }
}

class Unfit extends Error {}

/** Payload and configuration; the payload is read as JSON where something is taken from it. */
class Sources {
  readonly #material: SendingMaterial;
  #payload: { readonly value: unknown } | null = null;

  constructor(material: SendingMaterial) {
    this.#material = material;
  }

  get payload(): unknown {
    this.#payload ??= { value: parsed(this.#material.payload) };
    return this.#payload.value;
  }

  get config(): unknown {
    return this.#material.config ?? {};
  }

  /** A text, number or truth value as a text. */
  text(place: TextPlace): string {
    const value = valueAt(place.source === 'payload' ? this.payload : this.config, place.pointer);
    if (value === undefined) throw new Unfit(`there is nothing at ${placeText(place)}`);
    const text = isLosslessNumber(value)
      ? value.value
      : typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? String(value)
        : null;
    if (text === null || /\p{Cs}/u.test(text)) {
      throw new Unfit(`what is at ${placeText(place)} is no text that can stand there`);
    }
    return text;
  }
}

function parsed(bytes: Uint8Array): unknown {
  const value = parsedJson(bytes);
  if (value === undefined) throw new Unfit('the payload is no JSON');
  return value;
}

function bodyOf(
  { method, body: template }: HttpOperation,
  { payload, contentType }: SendingMaterial,
  sources: Sources,
): { readonly body: Uint8Array | null; readonly contentType: string | null } {
  if (method === 'GET' || (method === 'DELETE' && template === null)) {
    return { body: null, contentType: null };
  }
  if (template === null) return { body: payload, contentType };
  const built = buildRequest(template, sources.payload, sources.config);
  if (built.kind === 'missing')
    throw new Unfit(`there is nothing for the body at ${built.pointer}`);
  if (!isShallow(built.request, MAX_NESTING)) {
    throw new Unfit(`the body is nested deeper than ${MAX_NESTING} levels`);
  }
  return {
    body: Buffer.from(stringify(built.request) ?? 'null', 'utf8'),
    contentType: 'application/json',
  };
}

function filledUrl(template: string, sources: Sources): string {
  const parts = urlParts(template);
  if (typeof parts === 'string') throw new Unfit(`the operation's address is none: ${parts}`);
  const begin =
    parts.base === null
      ? `${template.slice(0, template.indexOf('://'))}://${authorityOf(parts.authority, sources)}`
      : baseOf(parts.base, sources);
  const path = parts.path.map((part) => escaped(part, sources)).join('');
  for (const segment of path.split('/')) {
    if (/^(?:\.|%2e){1,2}$/i.test(segment)) throw new Unfit('a step of the path would be . or ..');
  }
  const query = parts.query.map((part) => escaped(part, sources)).join('');
  const url = `${begin}${path}${query === '' ? '' : `?${query}`}`;
  if (url.length > MAX_URL || !URL.canParse(url)) throw new Unfit('its address would be none');
  return url;
}

/** Host and port. */
function authorityOf(parts: readonly TextPart[], sources: Sources): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const text = sources.text(part);
      if (/^[A-Za-z0-9.-]+(?::\d{1,5})?$/.test(text)) return text;
      throw new Unfit(`what is at ${placeText(part)} is no host`);
    })
    .join('');
}

function baseOf(place: TextPlace, sources: Sources): string {
  const text = sources.text(place);
  const plain = /^https?:\/\/[A-Za-z0-9.:[\]-]+(?:\/[^?#@\\\s]*)?$/.test(text);
  if (!plain || !URL.canParse(text)) {
    throw new Unfit(`what is at ${placeText(place)} is no base address`);
  }
  return text.replace(/\/+$/, '');
}

/** As one value: nothing in it separates, and none is empty. */
function escaped(part: TextPart, sources: Sources): string {
  if (typeof part === 'string') return part;
  const text = sources.text(part);
  if (text === '') throw new Unfit(`what is at ${placeText(part)} is empty`);
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function filledHeader(template: string, sources: Sources): string {
  const value = (textParts(template) ?? [])
    .map((part) => (typeof part === 'string' ? part : sources.text(part)))
    .join('');
  if (!/^[\x20-\x7e]*$/.test(value) || value.length > MAX_HEADER) {
    throw new Unfit('a header would not be printable ASCII, or too long');
  }
  return value;
}
