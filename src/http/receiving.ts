/**
 * Receiving a webhook, always in this order (docs/architecture, "Order of receiving"): known
 * ingress, size limit while streaming, raw bytes, signature, event type, then freshness and dedup inside
 * the one statement that stores the delivery.
 */
import type { IncomingMessage } from 'node:http';
import { ingestDelivery, rejectDelivery, type VerifiedRequest } from '../db/deliveries';
import { WaybillError } from '../domain/errors';
import { tenantId } from '../domain/ids';
import { maxAheadMs, type Unverified, type Verified } from '../domain/verification';
import { point } from '../points';
import type { IngressAnswer } from '../schemas/api-ingress';
import type { IngressConfig } from '../schemas/delivery-rows';
import type { CompiledScheme } from '../signing/webhooks/compile';
import type { WebhookRequest } from '../signing/webhooks/request';
import { verify } from '../signing/webhooks/verify';
import { readBody } from './bodies';
import type { BodyBudget } from './body-budget';
import { DEFAULT_PATIENCE, type HttpDeps, type IngressOutcome } from './deps';
import { describeRefused, describeVerified, webhookRequest } from './ingress-requests';
import { isOurFault, readIngressSecrets, type IngressSecrets } from './ingress-secrets';
import type { OpenIngress, OpenIngresses } from './open-ingresses';
import { HttpProblem } from './problems';
import type { RefusalLimit } from './refusals';

/** A loop takes over the start of the workflow when this process has not managed it by then. */
const ATTEND_AFTER_MS = 2_000;

export interface ArrivingRequest {
  /** The ingress reference of its path. */
  readonly ref: string;
  /** The remote address. */
  readonly ip: string;
  /** Head read, body not yet. */
  readonly raw: IncomingMessage;
}

/** What one server receives with. */
export interface Reception {
  readonly deps: HttpDeps;
  readonly limit: RefusalLimit;
  readonly ingresses: OpenIngresses;
  readonly budget: BodyBudget;
}

interface Receiving {
  readonly deps: HttpDeps;
  readonly limit: RefusalLimit;
  readonly ref: string;
  readonly ingress: IngressConfig;
  readonly scheme: CompiledScheme;
}

/**
 * Verifies and stores one request, and starts what must follow. A delivery that was answered is
 * committed.
 * @throws WaybillError whatever keeps it from being stored; `storage_unavailable` leaves nothing half
 *   done
 */
export async function receiveWebhook(
  reception: Reception,
  request: ArrivingRequest,
): Promise<IngressAnswer> {
  const { deps, ingresses, budget } = reception;
  const open = await ingresses(request.ref);
  const body = await readBody(request.raw, {
    limitBytes: open.ingress.bodyLimitBytes,
    idleMs: (deps.patience ?? DEFAULT_PATIENCE).bodyIdleMs,
    budget,
  }).catch((error: unknown) => {
    const code = error instanceof WaybillError ? error.code : 'internal';
    const { tenantId, subscriptionId } = open.ingress;
    deps.log.info({ tenantId, subscriptionId, code }, 'webhook not read');
    throw error;
  });
  try {
    return await judge(reception, request, open, body);
  } finally {
    budget.give(body.length);
  }
}

async function judge(
  { deps, limit }: Reception,
  { ref, ip, raw }: ArrivingRequest,
  { ingress, scheme }: OpenIngress,
  body: Buffer,
): Promise<IngressAnswer> {
  const webhook = webhookRequest(raw, { publicBaseUrl: deps.publicBaseUrl, ref }, body);
  const receiving = { deps, limit, ref, ingress, scheme };
  const secrets = await readIngressSecrets(deps, ingress);
  const verdict = verify(receiving.scheme, webhook, secrets.usable, secrets.receivedAtMs);
  if (!verdict.ok) {
    if (isOurFault(verdict, secrets)) throw secretUnavailable(receiving, verdict, secrets);
    return await refuse(receiving, webhook, { ...verdict, remoteAddress: ip });
  }
  return await ingest(receiving, webhook, verdict);
}

async function ingest(
  receiving: Receiving,
  webhook: WebhookRequest,
  verdict: Verified,
): Promise<IngressAnswer> {
  const { deps, ingress, scheme } = receiving;
  const described = describeVerified(
    { ingress, deliveryId: deps.newDeliveryId() },
    scheme,
    webhook,
  );
  if (!takes(ingress.eventTypes, described.eventType)) {
    note(receiving, 'ignored', {});
    return { outcome: 'ignored' };
  }
  await point('ingest.verified');
  const stored = await ingestDelivery(deps.data, {
    ...described,
    evidence: { ...evidenceOf(scheme), secretId: verdict.secretId },
    dedupKey: described.externalId,
    freshness: freshnessOf(verdict),
    attendAfterMs: ATTEND_AFTER_MS,
  });
  await point('ingest.committed');
  const { deliveryId } = described;
  note(receiving, stored.outcome, { deliveryId });
  switch (stored.outcome) {
    case 'stale':
      throw new WaybillError('signature_stale', skewText(stored.skewMs));
    case 'accepted':
      start(receiving, described);
      return { outcome: 'accepted', deliveryId };
    case 'duplicate':
    case 'conflict':
      return { outcome: stored.outcome, deliveryId, firstDeliveryId: stored.firstDeliveryId };
  }
}

function skewText(skewMs: number): string {
  return `It was signed ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'after' : 'before'} receipt.`;
}

function start({ deps, ingress }: Receiving, described: ReturnType<typeof describeVerified>): void {
  const { eventType, deliveryId } = described;
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
  if (waitS !== null) {
    note(receiving, 'limited', {});
    throw new HttpProblem('rejections_limited', '', { headers: { 'retry-after': String(waitS) } });
  }
  const deliveryId = deps.newDeliveryId();
  const evidence = { ...evidenceOf(scheme), remoteAddress: why.remoteAddress };
  await rejectDelivery(
    deps.data,
    { ...describeRefused({ ingress, deliveryId }, scheme, webhook), evidence },
    { reason: why.reason, detail: why.detail },
  );
  note(receiving, 'refused', { deliveryId, reason: why.reason });
  throw new WaybillError('signature_refused', why.detail);
}

/** Tells the log which secrets were read and did not serve, and which could not be read. */
function secretUnavailable(
  { deps, ingress }: Receiving,
  { reason }: Unverified,
  { usable, unreadable }: IngressSecrets,
): WaybillError {
  const { tenantId, subscriptionId } = ingress;
  const secretIds = usable.map(({ id }) => id);
  const about = { tenantId, subscriptionId, reason, secretIds, unreadable };
  deps.log.error(about, 'no secret to verify with');
  return new WaybillError('secret_unavailable');
}

function note(
  { deps, ingress }: Receiving,
  outcome: IngressOutcome,
  more: Readonly<Record<string, string>>,
): void {
  const { tenantId, connectorId, subscriptionId } = ingress;
  deps.count(outcome, { tenantId, connectorId });
  // A flood must not fill the log, too.
  const level = outcome === 'limited' ? 'debug' : 'info';
  deps.log[level]({ tenantId, connectorId, subscriptionId, outcome, ...more }, 'webhook received');
}

function takes(eventTypes: readonly string[], eventType: string): boolean {
  return eventTypes.includes('*') || eventTypes.includes(eventType);
}

/** How a request was or would be verified; never a secret, a signature or an address. */
function evidenceOf({ scheme }: CompiledScheme): Record<string, string> {
  return { scheme: scheme.kind, signatureField: scheme.signature.name };
}

function freshnessOf({ signedAtMs, toleranceS }: Verified): VerifiedRequest['freshness'] {
  if (signedAtMs === null || toleranceS === null) return null;
  const toleranceMs = toleranceS * 1000;
  return { signedAtMs, toleranceMs, aheadMs: Math.min(toleranceMs, maxAheadMs) };
}
