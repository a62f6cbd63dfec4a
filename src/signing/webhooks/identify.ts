/**
 * What identifies a verified delivery: the vendor's delivery id (the key of the dedup window), the
 * event type, and the headers that are kept with it.
 */
import { createHash } from 'node:crypto';
import type { DeliveryIdField, EventTypeField } from '../../schemas/webhook-schemes';
import type { CompiledScheme } from './compile';
import { readHeader, type HeaderPair } from './headers';
import { payloadJson, textAt } from './payload';
import type { WebhookRequest } from './request';

export interface DeliveryIdentity {
  /** At most 256 characters, without control characters. */
  readonly externalId: string;
  /** `content` where the vendor gave no id. */
  readonly externalIdFrom: 'header' | 'body' | 'content';
  readonly eventType: string | null;
  readonly keptHeaders: readonly HeaderPair[];
}

const maxTextLength = 256;

/**
 * Reads the identity of a request that was verified before. Never throws: what is absent, empty or
 * unreadable falls back, the id to `sha256:` and the digest of the body, the event type to null.
 *
 * @param bodySha256 SHA-256 of the body in hex, which the caller needs anyway
 */
export function identify(
  { scheme }: CompiledScheme,
  request: WebhookRequest,
  bodySha256: string,
): DeliveryIdentity {
  const json = lazily(() => payloadJson(request.body));
  const idField = scheme.delivery_id ?? defaultIdField(scheme.id_header);
  const id = idField.location === 'content' ? null : textFrom(idField, request, json);
  const type = scheme.event_type ? textFrom(scheme.event_type, request, json) : null;
  return {
    externalId: id === null ? `sha256:${bodySha256}` : boundedId(id),
    externalIdFrom: id === null ? 'content' : idField.location,
    eventType: type !== null && isBounded(type) ? type : null,
    keptHeaders: keptHeaders(scheme.kept_headers ?? [], request.headers),
  };
}

function defaultIdField(idHeader: string | undefined): DeliveryIdField {
  return idHeader === undefined ? { location: 'content' } : { location: 'header', name: idHeader };
}

function textFrom(
  field: EventTypeField,
  request: WebhookRequest,
  json: () => unknown,
): string | null {
  if (field.location === 'header') {
    const read = readHeader(request.headers, field.name.toLowerCase());
    return read.found === 'one' && read.text !== '' ? read.text : null;
  }
  const texts = [field.name].flat().map((path) => textAt(json(), path));
  return texts.find((text) => text !== null && text !== '') ?? null;
}

/**
 * A key column has a size limit and text columns refuse NUL and half surrogate pairs, so an id that
 * could not be stored is replaced by its digest; equal ids stay equal, others stay apart.
 */
function boundedId(id: string): string {
  if (isBounded(id)) return id;
  return `sha256:${createHash('sha256').update(JSON.stringify(id)).digest('hex')}`;
}

function isBounded(text: string): boolean {
  return text.length <= maxTextLength && !/[\p{Cc}\p{Cs}]/u.test(text);
}

function keptHeaders(names: readonly string[], headers: readonly HeaderPair[]): HeaderPair[] {
  const kept = new Set(names.map((name) => name.toLowerCase()));
  return headers
    .map(([name, value]): HeaderPair => [name.toLowerCase(), value])
    .filter(([name]) => kept.has(name));
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
