/**
 * What identifies a verified delivery: the vendor's delivery id (the key of the dedup window), the
 * event type, and the headers that are kept with it.
 */
import { createHash } from 'node:crypto';
import type { WebhookScheme } from '../../schemas/webhook-schemes';
import type {
  DeliveryIdField,
  DeliveryIdPlace,
  EventTypeField,
  EventTypePlace,
} from '../../schemas/webhook-schemes/identity';
import { isMessageScheme, type CompiledScheme } from './compile';
import type { HeaderPair } from './headers';
import { claimText } from './jwt';
import { textAt, valueAt } from './payload';
import type { WebhookRequest } from './request';
import { readPlace } from './signature-field';
import { viewOf, type RequestView } from './view';

export interface DeliveryIdentity {
  /** At most 256 characters, without control characters. */
  readonly externalId: string;
  /** `content` where the vendor gave no id. */
  readonly externalIdFrom: DeliveryIdPlace['location'];
  /** The one event type, `mixed` for a batch of several, or null. */
  readonly eventType: string | null;
  /** Every event type that the request holds, without repeats. */
  readonly eventTypes: readonly string[];
  readonly keptHeaders: readonly HeaderPair[];
}

const maxTextLength = 256;

/** The event type of a batch whose items have several. */
const MIXED = 'mixed';

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
  const view = viewOf(request);
  const id = firstId(scheme, view);
  const types = scheme.event_type ? typesOf(scheme.event_type, view) : [];
  return {
    externalId: id === null ? `sha256:${bodySha256}` : boundedId(id.text),
    externalIdFrom: id === null ? 'content' : id.from,
    eventType: types.length > 1 ? MIXED : (types[0] ?? null),
    eventTypes: types,
    keptHeaders: keptHeaders(scheme.kept_headers ?? [], request.headers),
  };
}

function firstId(
  scheme: WebhookScheme,
  view: RequestView,
): { readonly text: string; readonly from: DeliveryIdPlace['location'] } | null {
  const field = scheme.delivery_id ?? defaultIdField(scheme);
  for (const place of field.location === 'first' ? field.of : [field]) {
    const text = idText(place, scheme, view);
    if (text !== null && text !== '') return { text, from: place.location };
  }
  return null;
}

function defaultIdField(scheme: WebhookScheme): DeliveryIdField {
  const header = isMessageScheme(scheme) ? scheme.id_header : undefined;
  return header === undefined ? { location: 'content' } : { location: 'header', name: header };
}

function idText(place: DeliveryIdPlace, scheme: WebhookScheme, view: RequestView): string | null {
  switch (place.location) {
    case 'header':
      return headerText(place.name, view);
    case 'body':
      return joined([place.name].flat(), (path) => view.text(path));
    case 'items':
      return batchId(place, view);
    case 'claim':
      return claimOf(place.name, scheme, view);
    case 'content':
      return null;
  }
}

/** One value as it is; several as a list in JSON, so that unlike lists stay apart. */
function joined(paths: readonly string[], read: (path: string) => string | null): string | null {
  const texts = paths.map(read);
  if (texts.every((text) => text === null || text === '')) return null;
  return texts.length === 1 ? (texts[0] ?? null) : JSON.stringify(texts);
}

/** A batch is one delivery, whose id is the digest of its items' ids in any order. */
function batchId(
  { list, name }: DeliveryIdPlace & { location: 'items' },
  view: RequestView,
): string | null {
  const ids: string[] = [];
  for (const item of itemsOf(list, view)) {
    const id = joined([name].flat(), (path) => textAt(item, path));
    if (id === null) return null;
    ids.push(id);
  }
  if (ids.length === 0) return null;
  const text = JSON.stringify([...new Set(ids)].sort());
  return `items:${createHash('sha256').update(text).digest('hex')}`;
}

function itemsOf(list: string | undefined, view: RequestView): readonly unknown[] {
  const found = list === undefined ? view.json : valueAt(view.json, list);
  return Array.isArray(found) ? (found as readonly unknown[]) : [];
}

/** The signature is where the token is, and has been judged before. */
function claimOf(name: string, { signature }: WebhookScheme, view: RequestView): string | null {
  const read = readPlace(signature, view);
  if (read.found !== 'one') return null;
  const { format } = signature;
  return claimText(
    format === 'prefix' ? read.text.slice(signature.prefix.length) : read.text,
    name,
  );
}

function typesOf(field: EventTypeField, view: RequestView): readonly string[] {
  for (const place of field.location === 'first' ? field.of : [field]) {
    const found = placeTypes(place, view).filter((text) => text !== '' && isBounded(text));
    if (found.length > 0) return [...new Set(found)];
  }
  return [];
}

function placeTypes(place: EventTypePlace, view: RequestView): readonly string[] {
  switch (place.location) {
    case 'header':
      return present([headerText(place.name, view)]);
    case 'body':
      return present([place.name].flat().map((path) => view.text(path))).slice(0, 1);
    case 'items':
      return present(itemsOf(place.list, view).map((item) => textAt(item, place.name)));
  }
}

function present(texts: readonly (string | null)[]): readonly string[] {
  return texts.filter((text) => text !== null && text !== '').map(String);
}

function headerText(name: string, view: RequestView): string | null {
  const read = view.header(name);
  return read.found === 'one' && read.text !== '' ? read.text : null;
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
