/** A received request as signing and storing want to see it. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ReceivedRequest } from '../db/deliveries';
import { subscriptionId, tenantId, type DeliveryId } from '../domain/ids';
import type { IngressConfig } from '../schemas/delivery-rows';
import type { CompiledScheme } from '../signing/webhooks/compile';
import { readHeader, type HeaderPair } from '../signing/webhooks/headers';
import { identify, type DeliveryIdentity } from '../signing/webhooks/identify';
import type { WebhookRequest } from '../signing/webhooks/request';

/** The event type of a delivery whose vendor names none; a subscription may list it like others. */
const NO_EVENT_TYPE = 'unknown';

const NO_BYTES = new Uint8Array();

/** The delivery that a request becomes, if it is stored. */
export interface Recipient {
  readonly ingress: IngressConfig;
  readonly deliveryId: DeliveryId;
}

/**
 * The request with its exact bytes and header lines. Its URL is the configured one, never made from
 * Host or a forwarded header; the query is as received.
 */
export function webhookRequest(
  raw: IncomingMessage,
  { publicBaseUrl, ref }: { readonly publicBaseUrl: string; readonly ref: string },
  body: Uint8Array,
): WebhookRequest {
  const url = raw.url ?? '';
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  return {
    method: raw.method ?? '',
    url: `${publicBaseUrl.replace(/\/+$/, '')}/webhooks/${ref}${query}`,
    headers: headerPairs(raw.rawHeaders),
    body,
  };
}

/** What is stored of a verified request. */
export function describeVerified(
  to: Recipient,
  scheme: CompiledScheme,
  request: WebhookRequest,
): ReceivedRequest & { readonly externalId: string } {
  const sha256 = createHash('sha256').update(request.body).digest('hex');
  const { externalId, eventType, keptHeaders } = identify(scheme, request, sha256);
  return { ...stored(to, request, { eventType, keptHeaders }), externalId };
}

/**
 * What is stored of a request that nobody has vouched for: what it claims in its headers, so that a
 * person can find it. Its body is not parsed.
 */
export function describeRefused(
  to: Recipient,
  scheme: CompiledScheme,
  request: WebhookRequest,
): ReceivedRequest {
  const claimed = identify(scheme, { ...request, body: NO_BYTES }, '');
  const externalId = claimed.externalIdFrom === 'header' ? claimed.externalId : null;
  return { ...stored(to, request, claimed), externalId };
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
