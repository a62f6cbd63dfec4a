/**
 * Sending from the call to the receipt. Real: Postgres, Temporal, a worker, sockets. Doubled: the vendor,
 * which records what it gets.
 */
import type { DeliverOrder, SentDelivery } from '../../src/domain/sending';
import { DeliveryRig } from '../support/delivery-rig';
import type { Answer, ReceivedCall } from '../support/receiver';
import {
  answering,
  httpOperation,
  insertConnection,
  orderOf,
  refOf,
  sender,
  sent,
  SLOW_RETRY as SLOW,
  type ConnectionOptions,
} from '../support/sending-rig';
import { until } from '../support/until';

let rig: DeliveryRig;
let send: ReturnType<typeof sender>;
let names = 0;

beforeAll(async () => {
  rig = await DeliveryRig.start();
  await rig.work();
  send = sender(rig);
});
afterAll(() => rig.stop());
afterEach(() => {
  rig.receiver.decide = () => null;
});

/** A connection of its own, whose operation `send` goes to `/<name>` of the receiver. */
async function connection(
  changes: Parameters<typeof httpOperation>[1] = {},
  options: Partial<ConnectionOptions> = {},
): Promise<{ readonly name: string; calls(): ReceivedCall[] }> {
  names += 1;
  const name = `vendor-${names}`;
  const url = `${rig.receiver.url}/${name}`;
  const operations = { send: httpOperation(rig.receiver.url, { url, ...changes }) };
  await insertConnection(rig.db, { name, operations, ...options });
  const calls = () => rig.receiver.calls.filter(({ path }) => path.startsWith(`/${name}`));
  return { name, calls };
}

async function attempts({ deliveryId }: SentDelivery) {
  return rig.db.rows<{ outcome: string; reason: string | null; detail: string }>(
    `select outcome, reason, detail from waybill.delivery_attempts
      where delivery_id = $1 order by attempt_no`,
    [deliveryId],
  );
}

test('what is sent is answered with its receipt, within the wait', async () => {
  const vendor = await connection();
  const answer = await send(orderOf(vendor.name, { payload: '{"order":7}' }));
  expect(answer).toMatchObject({
    kind: 'settled',
    delivery: {
      state: 'Acknowledged',
      attempts: 1,
      status: 200,
      answerHead: 'ok',
      uncertain: false,
    },
  });
  const delivery = sent(answer);
  expect(delivery.receipt?.ref).toBe(`delivery/${delivery.deliveryId}/1`);
  expect(await rig.receipts(refOf(delivery))).toEqual([delivery.receipt?.jws]);
  expect(await rig.events(refOf(delivery))).toEqual(['delivery-dispatched']);
  const [call] = vendor.calls();
  expect(call?.body.toString()).toBe('{"order":7}');
  expect(call?.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': 'waybill',
  });
});

test('a slow one is answered before its end, and the same call meets it afterwards', async () => {
  const vendor = await connection();
  answering(rig.receiver, vendor, { status: 503, headers: { 'retry-after': '1' } });
  const order = orderOf(vendor.name, { waitMs: 50 });
  const first = await send(order);
  expect(first).toMatchObject({ kind: 'under_way', delivery: { receipt: null } });
  const again = await send({ ...order, waitMs: 10_000 });
  expect(again).toMatchObject({
    kind: 'settled',
    delivery: { state: 'Acknowledged', attempts: 2 },
  });
  expect(sent(again).deliveryId).toBe(sent(first).deliveryId);
  expect(vendor.calls()).toHaveLength(2);
});

test('one key twenty times at once is one row and one effect', async () => {
  const vendor = await connection();
  const order = orderOf(vendor.name);
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(order)));
  expect(new Set(answers.map((answer) => sent(answer).deliveryId)).size).toBe(1);
  expect(answers.every(({ kind }) => kind === 'settled')).toBe(true);
  expect(vendor.calls()).toHaveLength(1);
});

test('one key with another payload is a conflict; of another tenant it is its own', async () => {
  const vendor = await connection();
  const order = orderOf(vendor.name, { idempotencyKey: 'k1' });
  const different = orderOf(vendor.name, { idempotencyKey: 'k1', payload: '{"n":2}' });
  const ours = sent(await send(order));
  expect(await send(different)).toMatchObject({ kind: 'refused', code: 'delivery_conflict' });
  const ids = [ours.deliveryId];
  for (const tenant of ['globex', 'initech']) {
    await insertConnection(rig.db, { tenant, name: vendor.name, operations: {} });
    const theirs = sent(await sender(rig, { tenant })(tenant === 'globex' ? order : different));
    expect(theirs.state).toBe('Acknowledged');
    ids.push(theirs.deliveryId);
  }
  expect(new Set(ids).size).toBe(3);
  const bodies = vendor.calls().map(({ body }) => body.toString());
  expect(bodies).toEqual(['{"n":1}', '{"n":1}', '{"n":2}']);
});

test('a refusal is tried again within the budget of the caller, where that is the smaller one', async () => {
  const vendor = await connection();
  answering(rig.receiver, vendor, { status: 503 }, { status: 429 });
  expect(await send(orderOf(vendor.name))).toMatchObject({
    kind: 'settled',
    delivery: { state: 'Acknowledged', attempts: 3 },
  });
  answering(rig.receiver, vendor, { status: 503 }, { status: 503 });
  const budget = { attempts: 2, deadlineMs: null };
  const failed = sent(await send(orderOf(vendor.name, { budget })));
  expect(failed).toMatchObject({ state: 'Failed', attempts: 2, reason: 'status_refused' });
  expect(failed.receipt).not.toBeNull();
  expect(await rig.events(refOf(failed))).toEqual(['delivery-failed']);
});

test.each<[string, Partial<DeliverOrder['budget']>, number]>([
  ['no time is left for another attempt', { deadlineMs: 300 }, 1],
  ['there is time for all of them', { deadlineMs: 60_000 }, 3],
])('where %s, the deadline says so', async (_, budget, made) => {
  const list = { kind: 'list', delaysMs: [500, 10] } as const;
  const retry = { attempts: 3, backoff: list, jitter: 0, totalSpanMs: null, retryAfterCapMs: 0 };
  const vendor = await connection({}, { retry });
  answering(rig.receiver, vendor, { status: 503 }, { status: 503 }, { status: 503 });
  const order = orderOf(vendor.name, { budget: { attempts: null, deadlineMs: null, ...budget } });
  expect(sent(await send(order))).toMatchObject({ state: 'Failed', attempts: made });
});

test('Retry-After is honoured, and never shortens the profile', async () => {
  const list = { kind: 'list', delaysMs: [10] } as const;
  const retry = { ...SLOW, attempts: 2, backoff: list, retryAfterCapMs: 5_000 };
  const vendor = await connection({}, { retry });
  answering(rig.receiver, vendor, { status: 429, headers: { 'retry-after': '1' } });
  const started = performance.now();
  expect(sent(await send(orderOf(vendor.name)))).toMatchObject({
    state: 'Acknowledged',
    attempts: 2,
  });
  expect(performance.now() - started).toBeGreaterThan(950);
});

test.each<[string, number, string]>([
  ['a permanent 4xx', 422, 'permanent_refusal'],
  ['410, which pauses nothing', 410, 'target_gone'],
])('%s fails at once', async (_, status, reason) => {
  const vendor = await connection();
  answering(rig.receiver, vendor, { status, body: 'no' });
  const failed = sent(await send(orderOf(vendor.name)));
  expect(failed).toMatchObject({ state: 'Failed', attempts: 1, reason, uncertain: false });
  expect(failed).toMatchObject({ status, answerHead: 'no' });
});

test('a body that declares a failure is one, whatever the status', async () => {
  const success = { statuses: null, body: { pointer: '/ok', equals: true } };
  const vendor = await connection({ success });
  const bad = { status: 200, body: '{"ok":false}' };
  answering(rig.receiver, vendor, bad, bad, bad);
  expect(sent(await send(orderOf(vendor.name)))).toMatchObject({
    ...{ state: 'Failed', reason: 'body_refused', attempts: 3 },
  });
});

test.each<[string, Answer, string]>([
  ['never answers', 'hang', 'timed_out'],
  ['breaks the connection off', 'reset', 'answer_lost'],
  ['stands behind a gateway that lost it', { status: 504 }, 'answer_lost'],
  ['fails in the middle of it', { status: 500 }, 'status_refused'],
  ['sends to the page of what it made', { status: 303 }, 'redirect_refused'],
  [
    'answers with a status that is no declared success',
    { status: 202, body: '{"ok":true}' },
    'status_refused',
  ],
  ['answers without what the check compares', { status: 201, body: '{"ok":' }, 'body_refused'],
])('a vendor that takes it and %s is not sent it again: nobody knows', async (_, fault, reason) => {
  const success = { statuses: [200, 201], body: { pointer: '/ok', equals: true } };
  const vendor = await connection({ timeoutMs: 300, success });
  answering(rig.receiver, vendor, fault);
  const failed = sent(await send(orderOf(vendor.name)));
  expect(failed).toMatchObject({
    ...{ state: 'Failed', reason: 'uncertain', uncertain: true, attempts: 1 },
  });
  expect(await attempts(failed)).toMatchObject([{ outcome: 'unknown', reason }]);
  expect(vendor.calls()).toHaveLength(1);
  const [event] = await rig.db.rows<{ payload: unknown }>(
    `select payload from waybill.outbox_events where aggregate = $1`,
    [`delivery/${failed.deliveryId}`],
  );
  expect(event?.payload).toMatchObject({ direction: 'outbound', reason: 'uncertain' });
  await rig.says(refOf(failed), /may have had its effect.*--confirm-uncertain/);
});

test('where the vendor knows a key of its own, it is sent again with the same one', async () => {
  const vendor = await connection({ timeoutMs: 300, idempotencyHeader: 'idempotency-key' });
  answering(rig.receiver, vendor, 'hang', { status: 500 });
  const delivery = sent(await send(orderOf(vendor.name)));
  expect(delivery).toMatchObject({ state: 'Acknowledged', attempts: 3, uncertain: false });
  const keys = vendor.calls().map(({ headers }) => headers['idempotency-key']);
  expect(keys).toEqual([delivery.deliveryId, delivery.deliveryId, delivery.deliveryId]);
});

test('doubt stays, also where the last attempt was plainly refused', async () => {
  const vendor = await connection({ timeoutMs: 300, idempotencyHeader: 'idempotency-key' });
  answering(rig.receiver, vendor, 'hang', { status: 503 }, { status: 503 });
  expect(sent(await send(orderOf(vendor.name)))).toMatchObject({
    ...{ state: 'Failed', reason: 'uncertain', uncertain: true, attempts: 3 },
  });
});

test('nobody is sent anything where nothing listens, and that is no doubt', async () => {
  const vendor = await connection({ url: 'http://127.0.0.1:9/none' });
  const failed = sent(await send(orderOf(vendor.name)));
  expect(failed).toMatchObject({ state: 'Failed', reason: 'connection_refused', uncertain: false });
});

test('B030: a redirect is refused, and its target is never called', async () => {
  const vendor = await connection();
  const location = `${rig.receiver.url}/elsewhere`;
  const away = { status: 307, headers: { location } };
  answering(rig.receiver, vendor, away, away, away);
  expect(sent(await send(orderOf(vendor.name)))).toMatchObject({ reason: 'redirect_refused' });
  expect(rig.receiver.calls.some(({ path }) => path === '/elsewhere')).toBe(false);
});

test('an address that is private by the next attempt is refused then', async () => {
  const vendor = await connection({}, { retry: { ...SLOW, attempts: 2 } });
  answering(rig.receiver, vendor, { status: 503 });
  const order = orderOf(vendor.name, { waitMs: 0 });
  const ref = refOf(sent(await send(order)));
  await until('one attempt is over', async () => (await rig.row(ref)).reason ?? null);
  await rig.db.rows(
    `update waybill.instances set config = '{"base": "http://10.0.0.1"}'
    where instance_id = $1`,
    [vendor.name],
  );
  await rig.db.rows(
    `update waybill.connector_versions set outbound = jsonb_set(outbound, '{send,url}', '"{config/base}/x"')
      where connector_id = $1`,
    [vendor.name],
  );
  const failed = sent(await send({ ...order, waitMs: 10_000 }));
  expect(failed).toMatchObject({ state: 'Failed', reason: 'address_refused', attempts: 2 });
});

test('what is pending fails with the revocation of its connection', async () => {
  const vendor = await connection({}, { retry: SLOW });
  answering(rig.receiver, vendor, { status: 503 });
  const order = orderOf(vendor.name, { waitMs: 0 });
  const ref = refOf(sent(await send(order)));
  await until('one attempt is over', async () => (await rig.row(ref)).reason ?? null);
  await rig.db.rows(`update waybill.instances set status = 'revoked' where instance_id = $1`, [
    vendor.name,
  ]);
  expect(sent(await send({ ...order, waitMs: 10_000 }))).toMatchObject({
    ...{ state: 'Failed', reason: 'instance_revoked', attempts: 1 },
  });
});

test('a rate limit of the connector makes them wait, and loses none', async () => {
  const vendor = await connection({}, { rateLimit: { permits: 1, perMs: 200, burst: 1 } });
  const started = performance.now();
  const answers = await Promise.all(Array.from({ length: 4 }, () => send(orderOf(vendor.name))));
  expect(answers.map((answer) => sent(answer).state)).toEqual(Array(4).fill('Acknowledged'));
  expect(performance.now() - started).toBeGreaterThan(550);
  expect(vendor.calls()).toHaveLength(4);
});

test('while Temporal is away it is accepted, and a loop starts it later', async () => {
  const vendor = await connection();
  const lost = jest.spyOn(rig, 'workflows').mockImplementation(() => {
    throw new Error('Temporal is away');
  });
  const order = orderOf(vendor.name, { waitMs: 0 });
  await expect(send(order)).rejects.toThrow('Temporal is away');
  lost.mockRestore();
  expect(sent(await send({ ...order, waitMs: 10_000 }))).toMatchObject({ state: 'Acknowledged' });
});
