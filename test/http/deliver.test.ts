/**
 * The call that sends: what it takes, refuses and records, and replaying what may have had its effect.
 * Real: socket, server, Postgres, row security, attempts, approvals, the call. Doubled: the workflow, whose
 * attempts are made at once in this process, one after the other.
 */
import { v7 as uuidv7 } from 'uuid';
import { Webhook } from 'standardwebhooks';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryId, tenantId } from '../../src/domain/ids';
import type { Delivered } from '../../src/schemas/api-deliver';
import type { DeliveryHistory, DeliveryPage } from '../../src/schemas/api-deliveries';
import type { AttemptServices } from '../../src/services/attempt-services';
import { deliverService } from '../../src/services/deliver';
import { signApproval } from '../../src/signing/approvals/sign';
import { didOfKey } from '../../src/signing/did-key';
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import { Receiver } from '../support/receiver';
import {
  attempted as attemptAll,
  attemptServices,
  httpOperation,
  insertConnection,
} from '../support/sending-rig';
import { Harness, OPERATE, READ, problem, type Answer, type OtherServer } from './harness';

const SEND = 'factory.deliveries.send';
const TOKEN = 'tok3n-"secret" value';
const KEYS = ['whsec_b2xkLW9sZC1vbGQtb2xkLW9sZA==', 'whsec_bmV3LW5ldy1uZXctbmV3LW5ldw=='];

let h: Harness;
let vendor: Receiver;
let server: OtherServer;
let services: AttemptServices;
let kate: SigningKey;
const closers: (() => Promise<unknown>)[] = [];
const env: Record<string, string> = {};

beforeAll(async () => {
  h = await Harness.start();
  vendor = await Receiver.start();
  kate = await importSigningKey(await generateKeyText());
  const attempting = attemptServices(h.db, h.key, env);
  closers.push(() => attempting.close());
  services = attempting.services;
  const deliver = deliverService({
    data: services.data,
    newDeliveryId: () => deliveryId(uuidv7()),
    start: (ref) => void attempted(ref),
  });
  server = await h.alsoServe({ deliver });
  env['VENDOR_TOKEN'] = TOKEN;
  [env['OLD_KEY'], env['NEW_KEY']] = KEYS as [string, string];
  await connections();
});
afterAll(async () => {
  await server.close();
  for (const close of closers) await close();
  await vendor.stop();
  await h.stop();
});
beforeEach(() => {
  env['VENDOR_TOKEN'] = TOKEN;
});

async function connections(): Promise<void> {
  const operation = (changes: Parameters<typeof httpOperation>[1] = {}) =>
    httpOperation(vendor.url, { timeoutMs: 500, ...changes });
  await insertConnection(h.db, {
    name: 'pay',
    operations: {
      send: operation(),
      filled: operation({ url: `${vendor.url}/orders/{payload/order}?at={config/region}` }),
      charge: operation({ sideEffect: 'external' }),
      bearer: operation({ auth: { kind: 'bearer' } }),
      basic: operation({ auth: { kind: 'basic', user: '{config/region}' } }),
      header: operation({ auth: { kind: 'header', name: 'x-api-key', prefix: 'Key ' } }),
      query: operation({ auth: { kind: 'query', name: 'token' } }),
      signed: operation({ standardWebhooks: true, idempotencyHeader: 'webhook-id' }),
    },
    config: { region: 'eu 1' },
    secretRef: 'env:VENDOR_TOKEN',
    signingSecretRefs: ['env:NEW_KEY', 'env:OLD_KEY'],
  });
  await insertConnection(h.db, {
    name: 'deaf',
    operations: { send: operation() },
    grants: ['source'],
  });
  await h.db.rows(`update waybill.settings set trusted_approvers = $1`, [
    JSON.stringify({ kate: { keys: [didOfKey(kate.publicJwk.x)], tenants: ['acme'] } }),
  ]);
}

const attempted = (ref: DeliveryRef) => attemptAll(h.db, services, ref);

interface Call {
  readonly key?: string | null;
  readonly tenant?: string;
  readonly scopes?: readonly string[];
}

async function deliver(body: object, { key = uuidv7(), ...who }: Call = {}): Promise<Answer> {
  const token = await h.token({ scopes: [SEND], ...who });
  const response = await fetch(`${server.base}/v1/deliver`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(key === null ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify(body),
  });
  const answered = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body: answered };
}

/** What most calls ask for. */
const call = (changes: object = {}): object => ({
  ...{
    connector: 'pay',
    connectionId: 'pay',
    operation: 'send',
    payload: { n: 1 },
    waitMs: 10_000,
  },
  ...changes,
});

const delivered = async (body: object, options?: Call): Promise<Delivered> => {
  const answer = await deliver(body, options);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as unknown as Delivered;
};

const ALLOWED = { id: 'decision-7', outcome: 'allow', policy: 'refunds@3' } as const;

function approval(key: string, digest: string, changes: object = {}): Promise<string> {
  const iat = Math.floor(Date.now() / 1000);
  return signApproval(
    {
      ...{ sub: 'kate', tenant: 'acme', about: `delivery/${key}`, request_digest: digest },
      ...{ iat, exp: iat + 600, jti: uuidv7(), ...changes },
    },
    kate,
  );
}

const show = async (id: string): Promise<DeliveryHistory> =>
  (await h.call<DeliveryHistory>(`/factory/deliveries/${id}`)).body;

test('a call is answered with what became of it, and it is listed as outbound', async () => {
  const answer = await delivered(call(), { key: '"quoted-1"' });
  expect(answer).toMatchObject({
    ...{ state: 'Acknowledged', idempotencyKey: 'quoted-1', sideEffect: 'shared-write' },
    ...{ workflowId: `delivery/acme/${answer.deliveryId}`, status: 200 },
  });
  const page = (
    await h.call<DeliveryPage>('/factory/deliveries?direction=outbound&externalId=quoted-1')
  ).body;
  expect(page.deliveries).toMatchObject([
    { deliveryId: answer.deliveryId, direction: 'outbound', eventType: 'send', uncertain: false },
  ]);
  expect(await show(answer.deliveryId)).toMatchObject({
    sending: {
      requestedBy: 'ada@example.test',
      requestDigest: answer.requestDigest,
      approvals: [],
    },
    receipts: [{ kind: 'acknowledged' }],
  });
});

test('the same request in another order of its fields is the same; another one under its key is not', async () => {
  const first = await delivered(call({ payload: { a: 1, b: 2 } }), { key: 'order-1' });
  const again = await delivered(call({ payload: { b: 2, a: 1 } }), { key: 'order-1' });
  expect(again.deliveryId).toBe(first.deliveryId);
  const other = await deliver(call({ payload: { a: 2, b: 2 } }), { key: 'order-1' });
  expect(problem(other)).toMatchObject({ code: 'delivery_conflict', field: 'Idempotency-Key' });
  const elsewhere = await deliver(call({ operation: 'bearer', payload: { a: 1, b: 2 } }), {
    key: 'order-1',
  });
  expect(problem(elsewhere).code).toBe('delivery_conflict');
});

test('bytes go as they are, with their content type', async () => {
  const bytes = Buffer.from([0, 255, 10, 34]);
  const payloadBase64 = bytes.toString('base64');
  await delivered(call({ payload: undefined, payloadBase64, contentType: 'text/x-odd; a=b' }));
  const last = vendor.calls.at(-1);
  expect(last?.body).toEqual(bytes);
  expect(last?.headers['content-type']).toBe('text/x-odd; a=b');
});

test('an operation is filled from payload and configuration, each in its place', async () => {
  await delivered(call({ operation: 'filled', payload: { order: 'a/../b?c' } }));
  expect(vendor.calls.at(-1)?.path).toBe('/orders/a%2F..%2Fb%3Fc?at=eu%201');
  const unfit = await deliver(call({ operation: 'filled', payload: { order: '..' } }));
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
  const calls = vendor.calls.length;
  const rows = (await h.db.rows('select from waybill.deliveries')).length;
  expect(problem(await deliver(call(changes), options))).toMatchObject(wanted);
  expect(vendor.calls).toHaveLength(calls);
  expect(await h.db.rows('select from waybill.deliveries')).toHaveLength(rows);
});

test('a payload beyond the limit is refused', async () => {
  const payloadBase64 = Buffer.alloc(1_048_577).toString('base64');
  const answer = await deliver(call({ payload: 'x'.repeat(1_048_576) }));
  expect(problem(answer)).toMatchObject({ code: 'body_too_large', status: 413 });
  const bytes = await deliver(call({ payload: undefined, payloadBase64 }));
  expect(problem(bytes).status).toBeGreaterThanOrEqual(400);
});

test('an external one is sent with its decision and approval, and both are recorded', async () => {
  const asked = call({ operation: 'charge', policyDecision: ALLOWED });
  const refused = problem(await deliver(asked, { key: 'charge-1' }));
  const digest = refused.requestDigest ?? '';
  expect(refused.detail).toContain(`delivery/charge-1 and request digest ${digest}`);
  const token = await approval('charge-1', digest);
  const sent = await delivered({ ...asked, approval: token }, { key: 'charge-1' });
  expect(sent).toMatchObject({ state: 'Acknowledged', requestDigest: digest });
  expect((await show(sent.deliveryId)).sending).toMatchObject({
    policyDecision: ALLOWED,
    approvals: [{ approver: 'kate' }],
  });
  // It is there: whoever asks again is answered, whatever has become of the approval.
  expect(await delivered(asked, { key: 'charge-1' })).toEqual(sent);
});

test.each<[string, (digest: string) => Promise<string>, RegExp]>([
  ['of another key', (digest) => approval('charge-3', digest), /other subject/],
  ['of another request', () => approval('charge-2', 'd4'.repeat(32)), /other request/],
  [
    'of another tenant',
    (digest) => approval('charge-2', digest, { tenant: 'rival' }),
    /other tenant/,
  ],
  ['by somebody unknown', (digest) => approval('charge-2', digest, { sub: 'max' }), /untrusted/],
])('an approval %s does not count', async (_, token, said) => {
  const asked = call({ operation: 'charge', policyDecision: ALLOWED });
  const { requestDigest = '' } = problem(await deliver(asked, { key: 'charge-2' }));
  const answer = await deliver(
    { ...asked, approval: await token(requestDigest) },
    { key: 'charge-2' },
  );
  expect(problem(answer)).toMatchObject({
    code: 'approval_required',
    detail: expect.stringMatching(said) as string,
  });
});

describe('what may have had its effect', () => {
  const replay = (id: string, json: object) =>
    h.call(`/factory/deliveries/${id}/replay`, {
      json: { reason: 'the vendor has nothing', ...json },
    });

  test('is replayed only where that is confirmed', async () => {
    vendor.answers.push('reset');
    const { deliveryId: id } = await delivered(call());
    expect(await show(id)).toMatchObject({ state: 'Failed', reason: 'uncertain', uncertain: true });
    const page = (await h.call<DeliveryPage>('/factory/deliveries?reason=uncertain')).body;
    expect(page.deliveries.map((row) => row.deliveryId)).toContain(id);
    const refused = await replay(id, {});
    expect(problem(refused)).toMatchObject({
      code: 'delivery_uncertain',
      field: 'confirmUncertain',
    });
    expect(await replay(id, { confirmUncertain: true })).toMatchObject({ status: 202 });
    await attempted({ tenantId: tenantId('acme'), deliveryId: deliveryId(id) });
    expect(await show(id)).toMatchObject({ state: 'Acknowledged', uncertain: false, series: 2 });
  });

  test('and is external, needs an approval that was not used before', async () => {
    vendor.answers.push('reset');
    const asked = call({ operation: 'charge', policyDecision: ALLOWED });
    const key = 'charge-9';
    const { requestDigest: digest = '' } = problem(await deliver(asked, { key }));
    const first = await approval(key, digest);
    const { deliveryId: id } = await delivered({ ...asked, approval: first }, { key });
    const confirmUncertain = true;
    for (const token of [undefined, first]) {
      const answer = await replay(id, { confirmUncertain, approval: token });
      expect(problem(answer)).toMatchObject({ code: 'approval_required', field: 'approval' });
    }
    const second = await approval(key, digest);
    expect(await replay(id, { confirmUncertain, approval: second })).toMatchObject({ status: 202 });
    expect((await show(id)).sending?.approvals).toHaveLength(2);
  });
});

test('what plainly failed is replayed as ever', async () => {
  vendor.answers.push({ status: 404 });
  const { deliveryId: id } = await delivered(call());
  const json = { reason: 'the path is right now' };
  expect(await h.call(`/factory/deliveries/${id}/replay`, { json })).toMatchObject({ status: 202 });
});

describe('secrets', () => {
  test.each([
    ['bearer', 'authorization', `Bearer ${TOKEN}`],
    ['basic', 'authorization', `Basic ${Buffer.from(`eu 1:${TOKEN}`).toString('base64')}`],
    ['header', 'x-api-key', `Key ${TOKEN}`],
  ])('%s goes with the request', async (operation, header, value) => {
    await delivered(call({ operation }));
    expect(vendor.calls.at(-1)?.headers[header]).toBe(value);
  });

  test('one that was rotated is used by the next attempt', async () => {
    vendor.answers.push({ status: 503 });
    vendor.decide = () => {
      env['VENDOR_TOKEN'] = 'rotated';
      return null;
    };
    const calls = vendor.calls.length;
    await delivered(call({ operation: 'bearer' }));
    vendor.decide = () => null;
    const seen = vendor.calls.slice(calls).map(({ headers }) => headers.authorization);
    expect(seen).toEqual([`Bearer ${TOKEN}`, 'Bearer rotated']);
  });

  test('both signatures of a rotation are verified by the library of Standard Webhooks', async () => {
    await delivered(call({ operation: 'signed', payload: { n: 7 } }));
    const last = vendor.calls.at(-1);
    for (const key of KEYS) {
      const verified = new Webhook(key).verify(
        String(last?.body),
        last?.headers as Record<string, string>,
      );
      expect(verified).toEqual({ n: 7 });
    }
  });

  test('one that cannot be read, or stand in a header, sends nothing and is not told', async () => {
    for (const value of [undefined, 'two\nlines']) {
      if (value === undefined) delete env['VENDOR_TOKEN'];
      else env['VENDOR_TOKEN'] = value;
      const failed = await delivered(call({ operation: 'bearer' }));
      expect(failed).toMatchObject({
        state: 'Failed',
        reason: 'secret_unavailable',
        uncertain: false,
      });
      expect(JSON.stringify(failed)).not.toContain('lines');
    }
  });

  test('B060: none is in a row, an answer or the log, not even where the vendor repeats the request', async () => {
    const forms = [
      ...[TOKEN, encodeURIComponent(TOKEN), JSON.stringify(TOKEN).slice(1, -1)],
      ...[Buffer.from(`eu 1:${TOKEN}`).toString('base64'), ...KEYS],
    ];
    vendor.decide = ({ path, headers }) => ({
      status: 400,
      body: JSON.stringify({ path, headers, said: headers.authorization }),
    });
    const answers = [];
    for (const operation of ['bearer', 'basic', 'header', 'query', 'signed']) {
      answers.push(await delivered(call({ operation })));
    }
    vendor.decide = () => null;
    expect(vendor.calls.at(-2)?.path).toContain(encodeURIComponent(TOKEN));
    expect(answers[0]?.answerHead).toContain('[secret]');
    const tables = await h.db.rows<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'waybill'`,
    );
    const rows = [];
    for (const { name } of tables) rows.push(await h.db.rows(`select x::text as x from ${name} x`));
    const everything = JSON.stringify([answers, rows]) + h.log.join('');
    const escaped = forms.flatMap((form) => [form, JSON.stringify(form).slice(1, -1)]);
    expect(escaped.filter((form) => everything.includes(form))).toEqual([]);
  });
});

test('an answer is kept up to a bound', async () => {
  vendor.answers.push({ status: 200, body: 'x'.repeat(200_000) });
  const { answerHead } = await delivered(call());
  expect(answerHead).toHaveLength(1024);
});

test("another tenant's delivery is not there", async () => {
  const { deliveryId: id } = await delivered(call());
  const scopes = [READ, OPERATE];
  const path = `/factory/deliveries/${id}`;
  expect(await h.call(path, { tenant: 'rival', scopes })).toMatchObject({ status: 404 });
  const json = { reason: 'not mine', confirmUncertain: true };
  const replayed = await h.call(`${path}/replay`, { tenant: 'rival', scopes, json });
  expect(replayed).toMatchObject({ status: 404 });
});
