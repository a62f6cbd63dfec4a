/** Deliver: sends through a connection, once a key (docs/architecture, "Sending"). */
import { WaybillError } from '../domain/errors';
import {
  MAX_DELIVER_PAYLOAD_BYTES,
  type DeliverAnswer,
  type DeliverOrder,
  type SentDelivery,
} from '../domain/sending';
import { permits, type UsedCapability } from '../http/token-limits';
import { DeliverRequest } from '../schemas/grpc-messages';
import type { Caller } from './authorization';
import type { Method } from './calls';
import type { GrpcDeps } from './deps';
import { RefusedDelivery } from './refusals';

/** For the answer's way: whoever waits is answered before its own deadline. */
const ANSWER_MS = 250;

export interface DeliverResponse {
  readonly settled: boolean;
  readonly delivery: Omit<SentDelivery, 'instanceId'> & { readonly connectionId: string };
}

export function deliver(deps: GrpcDeps): Method<typeof DeliverRequest, DeliverResponse> {
  return {
    name: 'Deliver',
    request: DeliverRequest,
    async answer(request, caller, { signal, remainingMs }) {
      const waitMs = Math.max(0, Math.min(request.waitMs, remainingMs - ANSWER_MS));
      const order = orderOf(request, waitMs);
      const { principal } = caller;
      const { tenantId, subject } = principal;
      const who = {
        tenantId,
        subject,
        permits: (used: UsedCapability) => permits(principal, used),
      };
      const answered = await deps.deliver(order, who, signal);
      note(deps, caller, order, answered);
      if (answered.kind === 'refused') throw new RefusedDelivery(answered);
      const { instanceId: connectionId, ...delivery } = answered.delivery;
      return { settled: answered.kind === 'settled', delivery: { ...delivery, connectionId } };
    },
  };
}

function note(
  { log }: GrpcDeps,
  { principal, requestId }: Caller,
  { connectorId, instanceId, operation }: DeliverOrder,
  answered: DeliverAnswer,
): void {
  const { tenantId, subject: requestedBy } = principal;
  const outcome = answered.kind === 'refused' ? answered.code : answered.kind;
  const deliveryId = answered.kind === 'refused' ? undefined : answered.delivery.deliveryId;
  const about = { requestId, tenantId, connectorId, instanceId, operation, requestedBy };
  log.info({ ...about, deliveryId, outcome }, 'sending asked for');
}

function orderOf(request: DeliverRequest, waitMs: number): DeliverOrder {
  const { connectorId, connectionId: instanceId, operation, idempotencyKey, payload } = request;
  if (payload.length > MAX_DELIVER_PAYLOAD_BYTES) {
    const detail = `A payload has at most ${MAX_DELIVER_PAYLOAD_BYTES} bytes.`;
    throw new WaybillError('body_too_large', detail, { field: 'payload' });
  }
  const { attempts = null, deadlineMs = null } = request.budget ?? {};
  return {
    ...{ connectorId, instanceId, operation, idempotencyKey, payload, waitMs },
    contentType: request.contentType ?? 'application/json',
    budget: { attempts, deadlineMs },
    policyDecision: request.policyDecision,
    approval: request.approval,
  };
}
