/**
 * Receiving a webhook, always in this order (docs/architecture, "Order of receiving"): known
 * ingress, size limit while streaming, raw bytes, signature, event type, then freshness and dedup inside
 * the one statement that stores the delivery.
 */
import { rejectDelivery, type VerifiedRequest } from '../db/deliveries';
import { WaybillError } from '../domain/errors';
import { tenantId } from '../domain/ids';
import type { Unverified, Verified } from '../domain/verification';
import { point } from '../points';
import type { IngressAnswer } from '../schemas/api-ingress';
import type { IngestAnswer } from '../schemas/delivery-rows';
import type { WebhookRequest } from '../signing/webhooks/request';
import { verify } from '../signing/webhooks/verify';
import { readBody } from './bodies';
import { DEFAULT_PATIENCE } from './deps';
import { describeRefused, webhookRequest } from './ingress-requests';
import { answerSigned, answerUnsigned } from './handshakes';
import { fixedReply, type IngressReply } from './ingress-replies';
import { isOurFault, readIngressSecrets } from './ingress-secrets';
import type { OpenIngress } from './open-ingresses';
import type { IngestGroups } from './ingest-groups';
import { deliveryOf, evidenceOf } from './verified-requests';
import {
  limited,
  note,
  secretUnavailable,
  skewText,
  unsignedLine,
  type ArrivingRequest,
  type Receiving,
  type Reception,
} from './reception-notes';

/**
 * Verifies and stores one request, and starts what must follow. A delivery that was answered is
 * committed.
 * @throws WaybillError whatever keeps it from being stored; `storage_unavailable` leaves nothing half
 *   done
 */
export async function receiveWebhook(
  reception: Reception,
  request: ArrivingRequest,
): Promise<IngressReply> {
  const { deps, lines, ingresses, budget } = reception;
  const open = await ingresses(request.ref);
  const body = await readBody(request.raw, {
    limitBytes: open.ingress.bodyLimitBytes,
    idleMs: (deps.patience ?? DEFAULT_PATIENCE).bodyIdleMs,
    budget,
  }).catch((error: unknown) => {
    const code = error instanceof WaybillError ? error.code : 'internal';
    const { tenantId, subscriptionId } = open.ingress;
    unsignedLine({ deps, lines, ingress: open.ingress }, () => {
      deps.log.info({ tenantId, subscriptionId, code }, 'webhook not read');
    });
    throw error;
  });
  try {
    return await judge(reception, request, open, body);
  } finally {
    budget.give(body.length);
  }
}

async function judge(
  { deps, limit, lines, groups }: Reception,
  { ref, ip, raw }: ArrivingRequest,
  { ingress, scheme }: OpenIngress,
  body: Buffer,
): Promise<IngressReply> {
  const { publicBaseUrl } = deps;
  const webhook = webhookRequest(raw, { publicBaseUrl, ref, settings: ingress.config }, body);
  const receiving = { deps, limit, lines, ref, ip, ingress, scheme };
  const unsigned = await answerUnsigned(receiving, webhook);
  if (unsigned !== null) return unsigned;
  const secrets = await readIngressSecrets(deps, ingress);
  const { receivedAtMs } = secrets;
  const verdict = await verify(receiving.scheme, webhook, secrets.usable, { receivedAtMs });
  if (!verdict.ok) {
    if (isOurFault(verdict, secrets)) throw secretUnavailable(receiving, verdict, secrets);
    return await refuse(receiving, webhook, { ...verdict, remoteAddress: ip });
  }
  const signed = await answerSigned(receiving, webhook, { secrets, verdict });
  if (signed !== null) return signed;
  const answer = await ingest(groups, receiving, webhook, verdict);
  const { answer: wanted } = scheme.scheme;
  return wanted === undefined ? { kind: 'delivery', answer } : fixedReply(wanted);
}

async function ingest(
  groups: IngestGroups,
  receiving: Receiving,
  webhook: WebhookRequest,
  verdict: Verified,
): Promise<IngressAnswer> {
  const { deps, ingress, scheme } = receiving;
  const deliveryId = deps.newDeliveryId();
  const delivery = deliveryOf({ ingress, deliveryId }, scheme, webhook, verdict);
  if (delivery === null) {
    note(receiving, 'ignored', {});
    return { outcome: 'ignored' };
  }
  await point('ingest.verified');
  const { stored, waitS } = await store(groups, receiving, delivery);
  await point('ingest.committed');
  if (waitS !== null) throw limited(receiving, waitS);
  const lane = stored.outcome === 'stale' ? 'durable' : stored.lane;
  note(receiving, stored.outcome, { deliveryId }, lane);
  switch (stored.outcome) {
    case 'stale':
      throw new WaybillError('signature_stale', skewText(stored.skewMs));
    case 'accepted':
      // An express one needs no workflow yet.
      if (stored.lane === 'durable') start(receiving, delivery);
      else receiving.deps.starter.express(delivery.tenantId, stored.told);
      return { outcome: 'accepted', deliveryId };
    case 'duplicate':
    case 'conflict':
      return { outcome: stored.outcome, deliveryId, firstDeliveryId: stored.firstDeliveryId };
  }
}

/**
 * Only the database knows whether it is stale, and stores it in the same statement: it is counted as a
 * refusal before, and that is taken back when it was none. `waitS`: it is one too many and left no row.
 */
async function store(
  groups: IngestGroups,
  { limit, ref, ip }: Receiving,
  delivery: VerifiedRequest,
): Promise<{ readonly stored: IngestAnswer; readonly waitS: number | null }> {
  if (delivery.freshness === null) {
    return { stored: await groups.ingest(delivery), waitS: null };
  }
  const counted = await limit.count(ref, ip);
  let isStale = false;
  try {
    const recordStale = counted.waitS === null;
    const stored = await groups.ingest({ ...delivery, recordStale });
    isStale = stored.outcome === 'stale';
    return { stored, waitS: isStale ? counted.waitS : null };
  } finally {
    if (!isStale) await counted.takeBack();
  }
}

function start(
  { deps, ingress }: Receiving,
  delivery: Pick<VerifiedRequest, 'eventType' | 'deliveryId'>,
): void {
  const { eventType, deliveryId } = delivery;
  const { connectorId, subscriptionId } = ingress;
  deps.starter.start(
    { tenantId: tenantId(ingress.tenantId), deliveryId },
    { connectorId, eventType, subscriptionId },
  );
}

/** Records a refused request, unless its sender has had too many. */
async function refuse(
  receiving: Receiving,
  webhook: WebhookRequest,
  why: Unverified & { readonly remoteAddress: string },
): Promise<never> {
  const { deps, limit, ref, ingress, scheme } = receiving;
  const waitS = await limit.waitS(ref, why.remoteAddress);
  if (waitS !== null) throw limited(receiving, waitS);
  const deliveryId = deps.newDeliveryId();
  const evidence = { ...evidenceOf(scheme), remoteAddress: why.remoteAddress };
  const { request, ...described } = describeRefused({ ingress, deliveryId, ref }, scheme, webhook);
  const { reason, detail } = why;
  await rejectDelivery(deps.data, { ...described, evidence }, { reason, detail, request });
  note(receiving, 'refused', { deliveryId, reason: why.reason });
  throw new WaybillError('signature_refused', why.detail);
}
