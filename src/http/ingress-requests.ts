/** A received request as signing and storing want to see it. */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ReceivedRequest } from '../db/deliveries';
import { subscriptionId, tenantId, type DeliveryId } from '../domain/ids';
import type { IngressConfig } from '../schemas/delivery-rows';
import type { RejectedRequest } from '../schemas/rejected-requests';
import type { CompiledScheme } from '../signing/webhooks/compile';
import { readHeader, type HeaderPair } from '../signing/webhooks/headers';
import { identify, type DeliveryIdentity } from '../signing/webhooks/identify';
import type { WebhookRequest } from '../signing/webhooks/request';
import { viewOf } from '../signing/webhooks/view';

/** The event type of a delivery whose vendor names none; a subscription may list it like others. */
const NO_EVENT_TYPE = 'unknown';

const NO_BYTES = new Uint8Array();

const TOKEN_KINDS: ReadonlySet<string> = new Set(['shared-token', 'basic-auth']);

/** The delivery that a request becomes, if it is stored. */
export interface Recipient {
  readonly ingress: IngressConfig;
  readonly deliveryId: DeliveryId;
}

/** What a request is to its vendor, besides what arrived. */
export interface RequestOrigin {
  readonly publicBaseUrl: string;
  readonly ref: string;
  readonly settings: IngressConfig['config'];
}

/**
 * The request with its exact bytes and header lines. Its URL is the configured one, never made from
 * Host or a forwarded header; the query is as received.
 */
export function webhookRequest(
  raw: IncomingMessage,
  { publicBaseUrl, ref, settings }: RequestOrigin,
  body: Uint8Array,
): WebhookRequest {
  return {
    method: raw.method ?? '',
    url: `${ingressUrl(publicBaseUrl, ref)}${queryOf(raw.url ?? '')}`,
    headers: headerPairs(raw.rawHeaders),
    body,
    settings: settings ?? undefined,
  };
}

/** Where vendors reach an ingress. */
export function ingressUrl(publicBaseUrl: string, ref: string): string {
  return `${publicBaseUrl.replace(/\/+$/, '')}/webhooks/${ref}`;
}

/** With its question mark; empty without one. */
function queryOf(url: string): string {
  return url.includes('?') ? url.slice(url.indexOf('?')) : '';
}

export interface DescribedRequest extends ReceivedRequest {
  readonly externalId: string;
  /** Every event type that it holds, or the one of a vendor that names none. */
  readonly eventTypes: readonly string[];
}

/** What is stored of a verified request. */
export function describeVerified(
  to: Recipient,
  scheme: CompiledScheme,
  request: WebhookRequest,
): DescribedRequest {
  const sha256 = hash('sha256', request.body, 'hex');
  const { externalId, eventType, eventTypes, keptHeaders } = identify(scheme, request, sha256);
  return Object.assign(stored(to, request, { eventType, keptHeaders }), {
    externalId,
    eventTypes: eventTypes.length === 0 ? [NO_EVENT_TYPE] : eventTypes,
  });
}

/**
 * What is stored of a request that nobody has vouched for: what it claims in its headers, so that a
 * person can find it, and what it can be judged again by. Its body is not parsed.
 */
export function describeRefused(
  to: Recipient & { readonly ref: string },
  scheme: CompiledScheme,
  request: WebhookRequest,
): ReceivedRequest & { readonly request: RejectedRequest | null } {
  const unread = { ...request, body: NO_BYTES };
  const claimed = identify(scheme, unread, '');
  const externalId = claimed.externalIdFrom === 'header' ? claimed.externalId : null;
  const views = [request, unread].map(viewOf);
  const read = views.flatMap((view) => [...view.headersRead]);
  const wanted = [...read, 'content-type', ...(scheme.scheme.kept_headers ?? [])];
  const names = new Set(wanted.map((name) => name.toLowerCase()));
  const headers = request.headers.filter(([name]) => names.has(name.toLowerCase()));
  const { ref } = to;
  const { method } = request;
  return {
    ...stored(to, request, claimed),
    externalId,
    // Of these kinds the request carries the secret itself, which is never stored.
    request: TOKEN_KINDS.has(scheme.scheme.kind)
      ? null
      : {
          ...{ ref, method },
          // Somebody may have put a token there: only where the scheme looks at it.
          query: views.some((view) => view.urlRead) ? queryOf(request.url) : '',
          headers: headers.map(([k, v]) => [k, v]),
        },
  };
}

/** A request as it was, from what is kept of it. */
export function rejectedRequest(
  { ref, method, query, headers }: RejectedRequest,
  { publicBaseUrl, settings }: Omit<RequestOrigin, 'ref'>,
  body: Uint8Array,
): WebhookRequest {
  const url = `${ingressUrl(publicBaseUrl, ref)}${query}`;
  return { method, url, headers, body, settings: settings ?? undefined };
}

function stored(
  { ingress, deliveryId }: Recipient,
  request: WebhookRequest,
  identity: Pick<DeliveryIdentity, 'eventType' | 'keptHeaders'>,
): Omit<ReceivedRequest, 'externalId'> {
  const contentType = readHeader(request.headers, 'content-type');
  return {
    tenantId: tenantId(ingress.tenantId),
    deliveryId,
    subscriptionId: subscriptionId(ingress.subscriptionId),
    connectorId: ingress.connectorId,
    instanceId: ingress.instanceId,
    eventType: identity.eventType ?? NO_EVENT_TYPE,
    contentType: contentType.found === 'one' ? storable(contentType.text) : null,
    keptHeaders: identity.keptHeaders.flatMap(([name, value]) => {
      const text = storable(value);
      return text === null ? [] : [[name, text] as const];
    }),
    evidence: {},
    payload: request.body,
  };
}

function headerPairs(rawHeaders: readonly string[]): HeaderPair[] {
  const pairs: HeaderPair[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    pairs.push([rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '']);
  }
  return pairs;
}

/** Postgres refuses a NUL, and a header with control characters could not be sent on. */
function storable(text: string): string | null {
  return /[\p{Cc}\p{Cs}]/u.test(text.replaceAll('\t', ' ')) ? null : text;
}
