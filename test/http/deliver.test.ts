/**
 * The call that sends: what it takes, refuses and answers. Real: socket, server, Postgres, row security,
 * attempts, the call. Doubled: the workflow (see the rig).
 */
import type { DeliveryPage } from '../../src/schemas/api-deliveries';
import { ALLOWED, call, DeliverRig, type Call } from './deliver-rig';
import { OPERATE, problem, READ } from './harness';

let rig: DeliverRig;
beforeAll(async () => {
  rig = await DeliverRig.start();
});
afterAll(() => rig.stop());

test('a call is answered with what became of it, and it is listed as outbound', async () => {
  const answer = await rig.delivered(call(), { key: '"quoted-1"' });
  expect(answer).toMatchObject({
    ...{ state: 'Acknowledged', idempotencyKey: 'quoted-1', sideEffect: 'shared-write' },
    ...{ workflowId: `delivery/acme/${answer.deliveryId}`, status: 200 },
  });
  const page = (
    await rig.h.call<DeliveryPage>('/factory/deliveries?direction=outbound&externalId=quoted-1')
  ).body;
  expect(page.deliveries).toMatchObject([
    { deliveryId: answer.deliveryId, direction: 'outbound', eventType: 'send', uncertain: false },
  ]);
  expect(await rig.show(answer.deliveryId)).toMatchObject({
    sending: {
      requestedBy: 'ada@example.test',
      requestDigest: answer.requestDigest,
      approvals: [],
    },
    receipts: [{ kind: 'acknowledged' }],
  });
});

test('the same request in another order of its fields is the same; another one under its key is not', async () => {
  const first = await rig.delivered(call({ payload: { a: 1, b: 2 } }), { key: 'order-1' });
  const again = await rig.delivered(call({ payload: { b: 2, a: 1 } }), { key: 'order-1' });
  expect(again.deliveryId).toBe(first.deliveryId);
  const other = await rig.deliver(call({ payload: { a: 2, b: 2 } }), { key: 'order-1' });
  expect(problem(other)).toMatchObject({ code: 'delivery_conflict', field: 'Idempotency-Key' });
  const elsewhere = await rig.deliver(call({ operation: 'bearer', payload: { a: 1, b: 2 } }), {
    key: 'order-1',
  });
  expect(problem(elsewhere).code).toBe('delivery_conflict');
});

test('bytes go as they are, with their content type', async () => {
  const bytes = Buffer.from([0, 255, 10, 34]);
  const payloadBase64 = bytes.toString('base64');
  await rig.delivered(call({ payload: undefined, payloadBase64, contentType: 'text/x-odd; a=b' }));
  const last = rig.vendor.calls.at(-1);
  expect(last?.body).toEqual(bytes);
  expect(last?.headers['content-type']).toBe('text/x-odd; a=b');
});

test('an operation is filled from payload and configuration, each in its place', async () => {
  await rig.delivered(call({ operation: 'filled', payload: { order: 'a/../b?c' } }));
  expect(rig.vendor.calls.at(-1)?.path).toBe('/orders/a%2F..%2Fb%3Fc?at=eu%201');
  const payloadBase64 = Buffer.from('{"order":2868860079149422351}').toString('base64');
  await rig.delivered(call({ operation: 'filled', payload: undefined, payloadBase64 }));
  expect(rig.vendor.calls.at(-1)?.path).toBe('/orders/2868860079149422351?at=eu%201');
  const unfit = await rig.deliver(call({ operation: 'filled', payload: { order: '..' } }));
  expect(problem(unfit)).toMatchObject({ code: 'delivery_request_invalid', field: 'payload' });
});

test.each<[string, object, object, Call]>([
  ['no key', {}, { code: 'invalid_request', field: 'idempotency-key' }, { key: null }],
  ['no scope', {}, { code: 'scope_missing' }, { scopes: [READ] }],
  ['no payload', { payload: undefined }, { code: 'invalid_request', field: 'payload' }, {}],
  ['two payloads', { payloadBase64: '' }, { code: 'invalid_request', field: 'payload' }, {}],
  ['a wait that is too long', { waitMs: 10_001 }, { code: 'invalid_request', field: 'waitMs' }, {}],
  ['no such connection', { connectionId: 'none' }, { code: 'connection_unavailable' }, {}],
  ['another connector', { connector: 'deaf' }, { code: 'connection_unavailable' }, {}],
  [
    'a connection that grants no tool',
    { connector: 'deaf', connectionId: 'deaf' },
    { code: 'connection_unavailable' },
    {},
  ],
  ["another tenant's connection", {}, { code: 'connection_unavailable' }, { tenant: 'rival' }],
  [
    'no such operation',
    { operation: 'none' },
    { code: 'operation_unknown', field: 'operation' },
    {},
  ],
  ['an external one alone', { operation: 'charge' }, { code: 'policy_decision_required' }, {}],
  [
    'a decision that denies it',
    { operation: 'charge', policyDecision: { ...ALLOWED, outcome: 'deny' } },
    { code: 'policy_decision_required' },
    {},
  ],
  [
    'a decision without an approval',
    { operation: 'charge', policyDecision: ALLOWED },
    { code: 'approval_required', field: 'approval' },
    {},
  ],
])('%s is refused, and nothing is stored or sent', async (_, changes, wanted, options) => {
  const calls = rig.vendor.calls.length;
  const rows = (await rig.h.db.rows('select from waybill.deliveries')).length;
  expect(problem(await rig.deliver(call(changes), options))).toMatchObject(wanted);
  expect(rig.vendor.calls).toHaveLength(calls);
  expect(await rig.h.db.rows('select from waybill.deliveries')).toHaveLength(rows);
});

test('a deprecated version goes on sending; one that is revoked sends nothing', async () => {
  const become = (status: string) =>
    rig.h.db.rows('update waybill.connector_versions set status = $1', [status]);
  await become('deprecated');
  expect(await rig.delivered(call())).toMatchObject({ state: 'Acknowledged' });
  const calls = rig.vendor.calls.length;
  await become('revoked');
  const refused = problem(await rig.deliver(call()));
  await become('active');
  expect(refused).toMatchObject({
    code: 'connection_unavailable',
    detail: "its connector's version is not active",
  });
  expect(rig.vendor.calls).toHaveLength(calls);
});

test('a payload beyond the limit is refused', async () => {
  const answer = await rig.deliver(call({ payload: 'x'.repeat(1_048_576) }));
  expect(problem(answer)).toMatchObject({ code: 'body_too_large', status: 413 });
  // By one byte, by so little that the body is read, and by more.
  for (const more of [1, 2_000, 100_000]) {
    const payloadBase64 = Buffer.alloc(1_048_576 + more).toString('base64');
    const bytes = await rig.deliver(call({ payload: undefined, payloadBase64 }));
    expect(problem(bytes)).toMatchObject({ code: 'body_too_large', status: 413 });
  }
});

test('an answer is kept up to a bound', async () => {
  rig.vendor.answers.push({ status: 200, body: 'x'.repeat(200_000) });
  const { answerHead } = await rig.delivered(call());
  expect(answerHead).toHaveLength(1024);
});

test("another tenant's delivery is not there", async () => {
  const { deliveryId: id } = await rig.delivered(call());
  const scopes = [READ, OPERATE];
  const path = `/factory/deliveries/${id}`;
  expect(await rig.h.call(path, { tenant: 'rival', scopes })).toMatchObject({ status: 404 });
  const json = { reason: 'not mine', confirmUncertain: true };
  const replayed = await rig.h.call(`${path}/replay`, { tenant: 'rival', scopes, json });
  expect(replayed).toMatchObject({ status: 404 });
});

test.each<[string, Readonly<Record<string, unknown>>]>([
  ['capabilities', { capabilities: ['charge*', 'other'] }],
  ['classes', { max_side_effect: 'sandbox' }],
])('a token that is limited to other %s sends nothing', async (_, limits) => {
  const calls = rig.vendor.calls.length;
  const key = `limited-to-${Object.keys(limits).join()}`;
  const answer = await rig.deliver(call(), { claims: limits, key });
  expect(problem(answer)).toMatchObject({ code: 'capability_not_permitted', field: 'operation' });
  expect(rig.vendor.calls).toHaveLength(calls);
  await rig.delivered(call(), { key });
  // Nor is it told what became of what others have sent.
  const met = await rig.deliver(call(), { claims: limits, key });
  expect(problem(met)).toMatchObject({ code: 'capability_not_permitted', field: 'operation' });
});
