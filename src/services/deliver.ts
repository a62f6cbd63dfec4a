/**
 * `Deliver`: sends something through a tenant's connection, once an idempotency key
 * (docs/architecture, "Sending"). Knows no transport: HTTP and gRPC call the same function.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { readTrustedApprovers } from '../db/approvers';
import type { Database } from '../db/database';
import { acceptSending, findConnection, readSent } from '../db/sending';
import type { DeliveryRef } from '../domain/delivery-activities';
import { isLive } from '../domain/delivery-states';
import type { DeliveryId } from '../domain/ids';
import { deliveryId as asDeliveryId } from '../domain/ids';
import type {
  CarriedApproval,
  Deliver,
  DeliverAnswer,
  DeliverOrder,
  DeliverPrincipal,
  SentDelivery,
} from '../domain/sending';
import { MAX_DELIVER_WAIT_MS } from '../domain/sending';
import { point } from '../points';
import { canonicalJson } from '../schemas/canonical-json';
import type { OutboundOperation } from '../schemas/outbound';
import type { FoundConnection, Sending, SentRow } from '../schemas/sending-rows';
import { judgeCarried } from './carried-approvals';
import { sendingProblem } from './sending/adapters';

export interface DeliverServices {
  /** Role waybill_data. */
  readonly data: Database;
  readonly newDeliveryId: () => DeliveryId;
  /** Returns at once and never throws; a loop does what it could not. */
  readonly start: (
    ref: DeliveryRef,
    about: {
      readonly connectorId: string;
      readonly eventType: string;
      readonly subscriptionId: null;
    },
  ) => void;
}

/** How long this process has to start the workflow before a loop does. */
const ATTEND_AFTER_MS = 2_000;
const FIRST_LOOK_MS = 20;
const LONGEST_PAUSE_MS = 300;

export function deliverService(services: DeliverServices): Deliver {
  return async (order, principal, signal) => {
    const requestDigest = digestOf(order);
    const { tenantId } = principal;
    // What is there is met, whatever has become of its connection, or of the approval that it had.
    const known = await readSent(services.data, tenantId, order);
    if (known !== null)
      return await meet(services, { order, principal, signal }, known, requestDigest);
    const admitted = await admit(services, order, principal, requestDigest);
    if (admitted.kind === 'refused') return admitted;
    const ref: DeliveryRef = { tenantId, deliveryId: services.newDeliveryId() };
    const { answer, deliveryId } = await acceptSending(
      services.data,
      ref,
      { ...rowOf(order), sending: sendingOf(order, principal, { ...admitted, requestDigest }) },
      order.payload,
    );
    await point('sending.stored');
    if (answer === 'conflict') return conflict(deliveryId);
    const about = { connectorId: order.connectorId, eventType: order.operation } as const;
    if (answer === 'accepted') services.start(ref, { ...about, subscriptionId: null });
    const met: DeliveryRef = { tenantId, deliveryId: asDeliveryId(deliveryId) };
    return await untilSettled(services, met, { waitMs: order.waitMs, signal });
  };
}

/** What an approval is bound to, and two calls of one key must agree on. */
function digestOf(order: DeliverOrder): string {
  const { connectorId, instanceId, operation, contentType, payload } = order;
  const payloadSha256 = sha256(payload);
  return sha256(canonicalJson({ connectorId, instanceId, operation, contentType, payloadSha256 }));
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

interface Called {
  readonly order: DeliverOrder;
  readonly principal: DeliverPrincipal;
  readonly signal: AbortSignal;
}

async function meet(
  services: DeliverServices,
  { order, principal, signal }: Called,
  known: SentRow,
  requestDigest: string,
): Promise<DeliverAnswer> {
  if (known.sending.requestDigest !== requestDigest) return conflict(known.deliveryId);
  const refused = beyond(principal, known.sending);
  if (refused !== null) return refused;
  if (!isLive(known.state)) return { kind: 'settled', delivery: sentDelivery(known) };
  const ref = { tenantId: principal.tenantId, deliveryId: asDeliveryId(known.deliveryId) };
  return await untilSettled(services, ref, { waitMs: order.waitMs, signal });
}

type Refused = Extract<DeliverAnswer, { kind: 'refused' }>;

interface Admitted {
  readonly kind: 'admitted';
  readonly capabilityId: string;
  readonly sideEffect: SentDelivery['sideEffect'];
  readonly approval: CarriedApproval | null;
}

async function admit(
  { data }: DeliverServices,
  order: DeliverOrder,
  principal: DeliverPrincipal,
  requestDigest: string,
): Promise<Admitted | Refused> {
  const found = await findConnection(data, principal.tenantId, order);
  if (found === null) return unavailable('the tenant has no connection of that id');
  if (found.fault !== null) return unavailable(FAULTS[found.fault]);
  const { operation, sideEffect } = found;
  if (operation === null || sideEffect === null) return unknownOperation(order, found.operations);
  const capabilityId = operation.kind === 'action' ? operation.capabilityId : order.operation;
  const refused = beyond(principal, { capabilityId, sideEffect });
  if (refused !== null) return refused;
  const problem = materialProblem(order, operation, found);
  if (problem !== null) return problem;
  const external = sideEffect === 'external';
  // A decision that denies counts whatever the class.
  if (order.policyDecision === null ? external : order.policyDecision.outcome !== 'allow') {
    const denied = order.policyDecision === null ? 'the call carries none' : 'it denies the call';
    const code = 'policy_decision_required' as const;
    return { kind: 'refused', code, detail: denied, field: 'policyDecision' };
  }
  const admitted = { kind: 'admitted', capabilityId, sideEffect } as const;
  if (!external) return { ...admitted, approval: null };
  const judged = await judgeCarried(order.approval, {
    ...{ tenantId: principal.tenantId, idempotencyKey: order.idempotencyKey, requestDigest },
    ...{ requestedBy: [principal.subject], ...(await readTrustedApprovers(data)) },
  });
  if (judged.ok) return { ...admitted, approval: judged.approval };
  const { code, problem: detail } = judged;
  return { kind: 'refused', code, detail, field: 'approval', requestDigest };
}

/** What the limits of the caller's token keep from them, also of what is there already. */
function beyond(
  { permits }: DeliverPrincipal,
  { capabilityId, sideEffect }: Pick<Sending, 'capabilityId' | 'sideEffect'>,
): Refused | null {
  if (permits?.({ capabilityId, sideEffect }) !== false) return null;
  const detail = `the token does not allow ${capabilityId}, which is of the class ${sideEffect}`;
  return { kind: 'refused', code: 'capability_not_permitted', detail, field: 'operation' };
}

const FAULTS: Readonly<Record<Exclude<FoundConnection['fault'], null>, string>> = {
  connector_other: 'the connection belongs to another connector',
  instance_disabled: 'the connection is disabled',
  instance_revoked: 'the connection was revoked',
  connector_disabled: 'its connector is disabled',
  version_not_active: "its connector's version is not active",
  evidence_expired: "the evidence of its connector's version has expired",
  grant_missing: 'the connection does not grant `tool`',
};

function unavailable(detail: string): Refused {
  return { kind: 'refused', code: 'connection_unavailable', detail, field: 'connectionId' };
}

function unknownOperation({ operation }: DeliverOrder, known: readonly string[]): Refused {
  const names = known.length === 0 ? 'it sends nothing' : `there are: ${known.join(', ')}`;
  const detail = `the connector version declares no operation ${operation}; ${names}`;
  return { kind: 'refused', code: 'operation_unknown', detail, field: 'operation' };
}

/** What each attempt would meet again, said at once. */
function materialProblem(
  { payload, contentType }: DeliverOrder,
  operation: OutboundOperation,
  found: FoundConnection,
): Refused | null {
  const needsSecret = operation.kind === 'http' && operation.auth !== null;
  if (needsSecret && found.secretRef === null) {
    return unavailable('the operation needs a secret, and the connection has no secretRef');
  }
  const signs = operation.kind === 'http' && operation.standardWebhooks;
  if (signs && found.signingSecretRefs.length === 0) {
    return unavailable('the operation is signed, and the connection has no signingSecretRefs');
  }
  const problem = sendingProblem(operation, { payload, contentType, config: found.config });
  if (problem === null) return null;
  return { kind: 'refused', code: 'delivery_request_invalid', detail: problem, field: 'payload' };
}

function conflict(deliveryId: string): Refused {
  const detail = `the key belongs to delivery ${deliveryId}, which is another request`;
  return { kind: 'refused', code: 'delivery_conflict', detail, field: 'Idempotency-Key' };
}

function rowOf(order: DeliverOrder) {
  const { connectorId, instanceId, operation, idempotencyKey, contentType } = order;
  return {
    ...{ connectorId, instanceId, operation, idempotencyKey, contentType },
    attendAfterMs: ATTEND_AFTER_MS,
  };
}

function sendingOf(
  { budget, policyDecision }: DeliverOrder,
  { subject }: DeliverPrincipal,
  {
    capabilityId,
    sideEffect,
    approval,
    requestDigest,
  }: Admitted & { readonly requestDigest: string },
): Sending {
  const approvals = approval === null ? [] : [approval];
  const asked = { capabilityId, sideEffect, requestedBy: subject, requestDigest };
  return { ...asked, budget, policyDecision, approvals };
}

async function untilSettled(
  { data }: DeliverServices,
  { tenantId, deliveryId }: DeliveryRef,
  { waitMs, signal }: { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<DeliverAnswer> {
  const started = performance.now();
  const mostMs = Math.min(waitMs, MAX_DELIVER_WAIT_MS);
  for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    const row = await readSent(data, tenantId, { deliveryId });
    if (row === null) throw new Error('a delivery that was stored is gone');
    const delivery = sentDelivery(row);
    if (!isLive(row.state)) return { kind: 'settled', delivery };
    const leftMs = mostMs - (performance.now() - started);
    if (leftMs <= 0 || signal.aborted) return { kind: 'under_way', delivery };
    await delay(Math.min(pause, leftMs), undefined, { signal }).catch(() => undefined);
  }
}

function sentDelivery({ sending, ...row }: SentRow): SentDelivery {
  const { sideEffect, requestDigest } = sending;
  return { ...row, deliveryId: asDeliveryId(row.deliveryId), sideEffect, requestDigest };
}
