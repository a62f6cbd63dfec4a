/**
 * Judging a rejected delivery again, after its secret was corrected (docs/architecture, "Rejected
 * deliveries"): by its stored bytes, as of its receipt. What is verified now becomes a new delivery.
 */
import { readmitDelivery, readRejected, type Readmission } from '../db/readmissions';
import type { DeliveryRef } from '../domain/delivery-activities';
import { WaybillError } from '../domain/errors';
import { deliveryId as toDeliveryId } from '../domain/ids';
import type { Readmitted } from '../schemas/api-readmissions';
import type { RejectedAnswer } from '../schemas/rejected-requests';
import { findHandshake } from '../signing/webhooks/handshakes';
import { verify } from '../signing/webhooks/verify';
import { viewOf } from '../signing/webhooks/view';
import type { HttpDeps } from './deps';
import { rejectedRequest } from './ingress-requests';
import { isOurFault, secretsAsOf } from './ingress-secrets';
import type { OpenIngresses } from './open-ingresses';
import { HttpProblem } from './problems';
import { skewText } from './reception-notes';
import { deliveryOf } from './verified-requests';

type Kept = Extract<RejectedAnswer, { readonly answer: 'kept' }>;

/**
 * Judges it again; what is verified is stored and started like any other delivery, once: a second call
 * answers what the first one made.
 * @throws WaybillError `not_found`, `delivery_not_rejected`, `rejected_bytes_gone`,
 *   `readmission_refused`, `ingress_gone`, `unknown_ingress`, `secret_unavailable`, `storage_unavailable`
 */
export async function readmit(
  deps: HttpDeps,
  ingresses: OpenIngresses,
  rejected: DeliveryRef,
  who: Readmission,
): Promise<Readmitted> {
  const { answer, content } = await readRejected(deps.data, rejected);
  switch (answer.answer) {
    case 'unknown_delivery':
      throw new WaybillError('not_found');
    case 'not_rejected':
      throw new HttpProblem(
        'delivery_not_rejected',
        `The delivery is ${answer.state}; only a rejected one can be readmitted.`,
        { extra: { state: answer.state } },
      );
    case 'already_readmitted':
      return { outcome: 'already_readmitted', deliveryId: answer.deliveryId };
    case 'gone':
      throw new WaybillError('rejected_bytes_gone');
    case 'kept':
      if (content === null) throw new WaybillError('rejected_bytes_gone');
      return await judgeAgain({ deps, ingresses, rejected, who }, answer, content);
  }
}

interface Readmitting {
  readonly deps: HttpDeps;
  readonly ingresses: OpenIngresses;
  readonly rejected: DeliveryRef;
  readonly who: Readmission;
}

async function judgeAgain(
  { deps, ingresses, rejected, who }: Readmitting,
  { request, receivedAtMs }: Kept,
  content: Uint8Array,
): Promise<Readmitted> {
  const { ingress, scheme } = await ingresses(request.ref);
  const { publicBaseUrl } = deps;
  const webhook = rejectedRequest(request, { publicBaseUrl, settings: ingress.config }, content);
  const secrets = await secretsAsOf(deps.secrets, ingress, receivedAtMs);
  const verdict = await verify(scheme, webhook, secrets.usable, { receivedAtMs });
  if (!verdict.ok) {
    if (isOurFault(verdict, secrets)) throw new WaybillError('secret_unavailable', verdict.detail);
    throw new WaybillError('readmission_refused', verdict.detail);
  }
  // What would have been answered instead of delivered has nobody to answer to any more.
  const handshake = findHandshake(scheme, viewOf(webhook), true) !== null;
  if (handshake) return { outcome: 'ignored', deliveryId: null };
  const deliveryId = deps.newDeliveryId();
  const delivery = deliveryOf({ ingress, deliveryId }, scheme, webhook, verdict);
  if (delivery === null) return { outcome: 'ignored', deliveryId: null };
  const stored = await readmitDelivery(deps.data, rejected.deliveryId, delivery, who);
  switch (stored.outcome) {
    case 'gone':
      throw new WaybillError('rejected_bytes_gone');
    case 'stale':
      throw new WaybillError('readmission_refused', skewText(stored.skewMs));
    case 'accepted': {
      const { connectorId, subscriptionId } = ingress;
      const { eventType } = delivery;
      const ref = { tenantId: rejected.tenantId, deliveryId };
      if (stored.lane === 'express') deps.starter.express(rejected.tenantId, stored.told);
      else deps.starter.start(ref, { connectorId, eventType, subscriptionId });
      return { outcome: 'accepted', deliveryId };
    }
    case 'duplicate':
    case 'conflict':
    case 'already_readmitted':
      return { outcome: stored.outcome, deliveryId: toDeliveryId(stored.deliveryId) };
  }
}
