/**
 * Deliver over a real gRPC connection: the service that HTTP calls, too, over a real Postgres, a vendor on
 * a real socket. In place of a workflow each delivery is attempted until it is over, at once.
 */
import { status } from '@grpc/grpc-js';
import { v7 as uuidv7 } from 'uuid';
import { addressPolicy } from '../../src/db/target-addresses';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import type { DeliverAnswer } from '../../src/domain/sending';
import { deliveryId } from '../../src/domain/ids';
import { DEFAULT_LIMITS } from '../../src/grpc/deps';
import { callLimits } from '../../src/http/rate-limits';
import type { GrpcServer } from '../../src/grpc/server';
import { envSecrets } from '../../src/secrets/env';
import { AttemptClosings } from '../../src/services/attempt-closings';
import type { AttemptServices } from '../../src/services/attempt-services';
import { makeAttempt } from '../../src/services/attempts';
import { deliverService } from '../../src/services/deliver';
import { httpTargets } from '../../src/targets/http-target';
import { Approver } from '../support/approvers';
import { Receiver } from '../support/receiver';
import { httpOperation, insertConnection } from '../support/sending-rig';
import { startingActions } from '../support/starting-actions';
import { createTestDatabase } from '../support/test-database';
import { call, CATALOG_READ, fieldsOf, GrpcRig, refusal, type Outcome, type Wished } from './rig';

const SEND = 'factory.deliveries.send';

let rig: GrpcRig;
let vendor: Receiver;
let server: GrpcServer;
let services: AttemptServices;
let targets: ReturnType<typeof httpTargets>;
let told: DeliverAnswer | undefined;

beforeAll(async () => {
  rig = await GrpcRig.make(await createTestDatabase());
  vendor = await Receiver.start();
  const data = rig.db.as('waybill_data');
  await insertConnection(rig.db, {
    name: 'pay',
    operations: {
      send: httpOperation(vendor.url, { timeoutMs: 500 }),
      charge: httpOperation(vendor.url, { sideEffect: 'external' }),
    },
  });
  await rig.db.rows(`update waybill.settings set target_addresses = $1`, [
    JSON.stringify({ http: true, ports: [443], allow: ['127.0.0.1'] }),
  ]);
  targets = httpTargets({ policy: addressPolicy(data) });
  services = {
    ...{ data, signingKey: rig.key, secrets: envSecrets({}), call: targets.call, random: () => 0 },
    closings: new AttemptClosings(data),
    workflows: () => Promise.reject(new Error('no workflow is started here')),
    actions: startingActions(data, () => undefined),
  };
  const deliver = deliverService({
    data,
    newDeliveryId: () => deliveryId(uuidv7()),
    start: (ref) => void attempted(ref),
  });
  server = await rig.serve({
    deliver: async (...given) => (told = await deliver(...given)),
  });
});
afterAll(async () => {
  await rig.stop();
  await targets.close();
  await vendor.stop();
  await rig.db.drop();
});

async function attempted(ref: DeliveryRef): Promise<void> {
  const options = { owner: 'test', takeOver: false, signal: new AbortController().signal };
  await makeAttempt(services, ref, options);
}

const order = (more: Record<string, unknown> = {}) => ({
  ...{ connectorId: 'pay', connectionId: 'pay', operation: 'send', idempotencyKey: uuidv7() },
  ...{ payload: Buffer.from('{"amount":7}'), waitMs: 10_000, ...more },
});

const deliver = async (
  message: Record<string, unknown>,
  more: Wished & { readonly deadlineMs?: number } = {},
) =>
  call(rig.client(server), 'Deliver', message, {
    metadata: await rig.metadata({ ...more, scopes: more.scopes ?? [SEND] }),
    ...(more.deadlineMs === undefined ? {} : { deadlineMs: more.deadlineMs }),
  });

function idOf(outcome: Outcome): unknown {
  if ('refused' in outcome) throw outcome.refused;
  return (outcome.answer['delivery'] as { readonly deliveryId: unknown }).deliveryId;
}

it('sends the bytes once a key, and answers with the receipt', async () => {
  const message = order();
  const before = vendor.calls.length;
  const first = await deliver(message);
  expect(first).toMatchObject({
    answer: {
      settled: true,
      delivery: {
        ...{ connectorId: 'pay', connectionId: 'pay', operation: 'send', state: 'Acknowledged' },
        ...{ sideEffect: 'shared-write', attempts: 1, uncertain: false, status: 200 },
        idempotencyKey: message.idempotencyKey,
        receipt: { jws: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) as string },
      },
    },
  });
  // Nothing that the service tells is lost on the way.
  if (told?.kind !== 'settled') throw new Error('it was not settled');
  const { instanceId, ...said } = told.delivery;
  expect(Object.keys({ ...said, connectionId: instanceId }).sort()).toEqual(
    await fieldsOf('SentDelivery'),
  );
  expect(await deliver(message)).toEqual(first);
  const calls = vendor.calls.slice(before);
  expect(calls.map(({ body }) => body.toString())).toEqual(['{"amount":7}']);
  expect(calls[0]?.headers['content-type']).toBe('application/json');
});

it('answers what is known before the deadline of whoever waits', async () => {
  vendor.answers.push('hang');
  const answered = await deliver(order(), { deadlineMs: 500 });
  expect(answered).toMatchObject({
    answer: { settled: false, delivery: { state: 'Dispatched', attempts: 1 } },
  });
});

it.each([
  [{ capabilities: ['send'] }, true],
  [{ capabilities: ['charge', 'x.*'] }, false],
  [{ max_side_effect: 'shared-write' }, true],
  [{ max_side_effect: 'read' }, false],
])('sends with a token that says %j: %s', async (claims, allowed) => {
  const before = vendor.calls.length;
  const outcome = await deliver(order(), { claims });
  if (allowed) expect(outcome).toMatchObject({ answer: { settled: true } });
  else {
    const refused = { status: status.PERMISSION_DENIED, code: 'capability_not_permitted' };
    expect(refusal(outcome)).toMatchObject({ ...refused, field: 'operation' });
  }
  expect(vendor.calls.length - before).toBe(allowed ? 1 : 0);
});

it('its calls count together with those of the other methods', async () => {
  const counting = callLimits({ perSubject: 1, perTenant: 9 });
  const client = rig.client(await rig.serve({ callLimits: counting }));
  const metadata = await rig.metadata({ scopes: [SEND, CATALOG_READ] });
  const resolved = await call(client, 'ResolveCapability', { capabilityId: 'send' }, { metadata });
  expect(refusal(resolved)).toMatchObject({ code: 'capability_unavailable' });
  expect(refusal(await call(client, 'Deliver', order(), { metadata }))).toMatchObject({
    ...{ status: status.RESOURCE_EXHAUSTED, code: 'rate_limited' },
  });
});

it('refuses another request under the same key', async () => {
  const message = order();
  await deliver(message);
  expect(refusal(await deliver({ ...message, payload: Buffer.from('{}') }))).toMatchObject({
    ...{ status: status.FAILED_PRECONDITION, code: 'delivery_conflict' },
  });
});

it('what is external needs a decision and an approval, and is told what that must name', async () => {
  const charge = order({ operation: 'charge' });
  expect(refusal(await deliver(charge))).toMatchObject({
    ...{ status: status.PERMISSION_DENIED, code: 'policy_decision_required' },
  });
  const decided = { ...charge, policyDecision: { id: 'd-1', outcome: 'allow' } };
  const outcome = await deliver(decided);
  expect(refusal(outcome)).toMatchObject({ code: 'approval_required' });
  const [digest] =
    'refused' in outcome ? outcome.refused.metadata.get('waybill-request-digest') : [];
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  const approver = await Approver.trustedBy(rig.db, 'grace@example.test');
  const signed = await approver.signsDelivery(charge.idempotencyKey, String(digest), 'token-1');
  const before = vendor.calls.length;
  expect(refusal(await deliver({ ...decided, approval: `${signed}x` }))).toMatchObject({
    ...{ status: status.PERMISSION_DENIED, field: 'approval' },
  });
  expect(vendor.calls).toHaveLength(before);
  const approved = { ...decided, approval: signed };
  expect(await deliver(approved)).toMatchObject({
    answer: { settled: true, delivery: { sideEffect: 'external', state: 'Acknowledged' } },
  });
  expect(vendor.calls).toHaveLength(before + 1);
  expect(refusal(await deliver(approved, { tenant: 'rival' }))).toMatchObject({
    code: 'connection_unavailable',
  });
});

it('tells another tenant nothing of what was sent, and takes its key as its own', async () => {
  const message = order();
  const ours = await deliver(message);
  const before = vendor.calls.length;
  expect(refusal(await deliver(message, { tenant: 'rival' }))).toMatchObject({
    ...{ status: status.NOT_FOUND, code: 'connection_unavailable' },
  });
  expect(vendor.calls).toHaveLength(before);
  await insertConnection(rig.db, { tenant: 'globex', name: 'pay', operations: {} });
  const theirs = await deliver(message, { tenant: 'globex' });
  expect(theirs).toMatchObject({ answer: { settled: true, delivery: { attempts: 1 } } });
  expect(vendor.calls).toHaveLength(before + 1);
  expect(idOf(theirs)).not.toBe(idOf(ours));
});

it.each([
  [{ connectorId: '' }, 'connector_id'],
  [{ idempotencyKey: '' }, 'idempotency_key'],
  [{ idempotencyKey: 'a b' }, 'idempotency_key'],
  [{ contentType: 'none' }, 'content_type'],
  [{ waitMs: 10_001 }, 'wait_ms'],
  [{ budget: { attempts: 0 } }, 'budget.attempts'],
  [{ policyDecision: { id: '', outcome: 'allow' } }, 'policy_decision.id'],
  [{ policyDecision: { id: 'd', outcome: 'perhaps' } }, 'policy_decision.outcome'],
])('refuses %j and names the field', async (more, field) => {
  expect(refusal(await deliver(order(more)))).toMatchObject({
    ...{ status: status.INVALID_ARGUMENT, code: 'invalid_request', field },
  });
});

it('bounds what a payload may be, and asks for its scope', async () => {
  const large = order({ payload: Buffer.alloc(1_048_577) });
  expect(refusal(await deliver(large))).toMatchObject({
    ...{ status: status.RESOURCE_EXHAUSTED, code: 'body_too_large', field: 'payload' },
  });
  const larger = order({ payload: Buffer.alloc(DEFAULT_LIMITS.messageBytes) });
  expect(refusal(await deliver(larger))).toMatchObject({ status: status.RESOURCE_EXHAUSTED });
  expect(refusal(await deliver(order(), { scopes: ['factory.catalog.read'] }))).toMatchObject({
    code: 'scope_missing',
  });
});
