/**
 * What a vendor may have taken, and whether it is sent again. Real: Postgres, attempts, the call. Doubled:
 * the workflow, whose attempts this process makes, and the vendor.
 */
import { v7 as uuidv7 } from 'uuid';
import { openAttempt } from '../../src/db/deliveries';
import { beginRecovery, endRecovery } from '../../src/db/recovery';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryId, tenantId } from '../../src/domain/ids';
import type { HttpOperation } from '../../src/schemas/outbound';
import { deliverService } from '../../src/services/deliver';
import { decideReplay } from '../../src/services/replays';
import { makeAttempt } from '../../src/services/attempts';
import { generateKeyText, importSigningKey } from '../../src/signing/keys';
import { Receiver } from '../support/receiver';
import {
  attemptServices,
  httpOperation,
  insertConnection,
  orderOf,
  refOf,
  sent,
} from '../support/sending-rig';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let db: TestDatabase;
let vendor: Receiver;
let attempting: ReturnType<typeof attemptServices>;
let names = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  vendor = await Receiver.start();
  const key = await importSigningKey(await generateKeyText());
  attempting = attemptServices(db, key, { TOKEN: 'of-the-vendor' });
});
afterAll(async () => {
  await attempting.close();
  await vendor.stop();
  await db.drop();
});

/** Something that is to be sent by an operation of its own, and of a connection of its own. */
async function stored(changes: Partial<HttpOperation>): Promise<DeliveryRef> {
  names += 1;
  const name = `vendor-${names}`;
  const operations = { send: httpOperation(vendor.url, { timeoutMs: 300, ...changes }) };
  const config = { region: 'eu' };
  await insertConnection(db, { name, operations, config, secretRef: 'env:TOKEN' });
  const deliver = deliverService({
    data: attempting.services.data,
    newDeliveryId: () => deliveryId(uuidv7()),
    start: () => undefined,
  });
  const principal = { tenantId: tenantId('acme'), subject: 'ada' };
  const order = orderOf(name, { waitMs: 0 });
  return refOf(sent(await deliver(order, principal, new AbortController().signal)));
}

async function attempt(ref: DeliveryRef, services = attempting.services, takeOver = false) {
  await db.rows('update waybill.deliveries set next_attempt_at = null where delivery_id = $1', [
    ref.deliveryId,
  ]);
  const { signal } = new AbortController();
  return makeAttempt(services, ref, { owner: 'test', takeOver, signal });
}

const replay = (ref: DeliveryRef, confirmUncertain = false) =>
  decideReplay(attempting.services, ref, { replayedBy: 'ada', reason: 'so', confirmUncertain });

async function rowOf({ deliveryId: id }: DeliveryRef) {
  const [row] = await db.rows<{
    state: string;
    reason: string;
    detail: string;
    uncertain: boolean;
  }>('select state, reason, detail, uncertain from waybill.deliveries where delivery_id = $1', [
    id,
  ]);
  return row;
}

/** The operation of its connection, as if it had been published so. */
const publish = (changes: string, name = `vendor-${names}`) =>
  db.rows(
    `update waybill.connector_versions set outbound = jsonb_set(outbound, '{send}',
        outbound->'send' || $2) where connector_id = $1`,
    [name, changes],
  );

async function callsOf(work: () => Promise<unknown>): Promise<number> {
  const before = vendor.calls.length;
  await work();
  return vendor.calls.length - before;
}

const KEYED = { idempotencyHeader: 'idempotency-key' };
const UNSENT = { kind: 'failed', reason: 'uncertain' };

/** By the vendor's key; whether its first attempt was taken, nobody knows. */
async function doubted(changes: Partial<HttpOperation> = {}): Promise<DeliveryRef> {
  const ref = await stored({ ...KEYED, ...changes });
  vendor.answers.push({ status: 500 });
  expect(await attempt(ref)).toMatchObject({ kind: 'retry' });
  return ref;
}

describe('what only reads', () => {
  const READS = { sideEffect: 'read' } as const;

  test.each(['hang', 'reset'] as const)(
    'is asked again where it %ss, and leaves no doubt where that does not help',
    async (fault) => {
      const ref = await stored(READS);
      vendor.answers.push(fault);
      expect(await attempt(ref)).toMatchObject({ kind: 'retry' });
      expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
      const other = await stored(READS);
      vendor.decide = () => fault;
      for (let nth = 1; nth < 3; nth += 1) await attempt(other);
      const reason = fault === 'hang' ? 'timed_out' : 'answer_lost';
      expect(await attempt(other)).toMatchObject({ kind: 'failed', reason });
      vendor.decide = () => null;
      expect(await rowOf(other)).toMatchObject({ state: 'Failed', reason, uncertain: false });
      expect(await replay(other)).toMatchObject({ kind: 'replayed' });
    },
  );

  test('is asked again where its worker was lost, also by what is more than reading by then', async () => {
    const ref = await stored(READS);
    await openAttempt(attempting.services.data, ref, 'lost');
    await publish('{"sideEffect": "shared-write"}');
    expect(await attempt(ref, attempting.services, true)).toMatchObject({ kind: 'retry' });
    expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
  });

  test('was more than that when it was lost: then nobody knows', async () => {
    const ref = await stored({});
    await openAttempt(attempting.services.data, ref, 'lost');
    await publish('{"sideEffect": "read"}');
    expect(await attempt(ref, attempting.services, true)).toMatchObject(UNSENT);
    expect(await rowOf(ref)).toMatchObject({ uncertain: true });
  });
});

describe('what the vendor would know by its key', () => {
  test.each([
    ['another address', '{"url": "http://127.0.0.1:9/elsewhere"}'],
    ['another header', '{"headers": {"x-account": "other"}}'],
    ['another name of the key', '{"idempotencyHeader": "x-request-id"}'],
  ])('is not sent again with %s', async (_, changes) => {
    const ref = await doubted();
    await publish(changes);
    expect(await callsOf(() => attempt(ref))).toBe(0);
    expect(await rowOf(ref)).toMatchObject({
      ...{ state: 'Failed', reason: 'uncertain', uncertain: true },
      detail: expect.stringMatching(/has changed since/) as string,
    });
  });

  test('is not sent again with another configuration of the account', async () => {
    const ref = await doubted();
    await db.rows(`update waybill.instances set config = '{"region": "us"}'`);
    expect(await callsOf(() => attempt(ref))).toBe(0);
    expect(await attempt(ref)).toMatchObject({ kind: 'settled', reason: 'uncertain' });
  });

  test('is sent again with another time-out, check and secret', async () => {
    const ref = await doubted();
    await publish('{"timeoutMs": 900, "success": {"statuses": [200], "body": null}}');
    await db.rows(
      `update waybill.instances set secret_ref = 'env:NEXT', signing_secret_refs = '{}'`,
    );
    expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
  });

  test('is not sent again once the vendor need not know it any more', async () => {
    const ref = await doubted({ idempotencyWindowMs: 3_600_000 });
    const ago = (minutes: number) =>
      db.rows(
        `update waybill.delivery_attempts set opened_at = clock_timestamp() - make_interval(mins => $2)
          where delivery_id = $1`,
        [ref.deliveryId, minutes],
      );
    await ago(59);
    vendor.answers.push({ status: 503 });
    expect(await callsOf(() => attempt(ref))).toBe(1);
    await ago(61);
    expect(await callsOf(() => attempt(ref))).toBe(0);
    expect((await rowOf(ref))?.detail).toMatch(/need not know its key/);
  });
});

test.each([
  ['its connection was revoked', `update waybill.instances set status = 'revoked'`, /revoked/],
  [
    "its caller's time was over",
    'update waybill.deliveries set deadline_at = clock_timestamp() where attend_at is not null',
    /time is over/,
  ],
])('where %s after that, the doubt is what people are told first', async (_, change, cause) => {
  const ref = await doubted();
  await db.rows(change);
  expect(await attempt(ref)).toMatchObject(UNSENT);
  const row = await rowOf(ref);
  expect(row).toMatchObject({ reason: 'uncertain', uncertain: true });
  expect(row?.detail).toMatch(cause);
  expect(row?.detail).toMatch(/may have been sent/);
  const [event] = await db.rows<{ payload: unknown }>(
    'select payload from waybill.outbox_events where aggregate = $1 order by aggregate_seq desc',
    [`delivery/${ref.deliveryId}`],
  );
  expect(event?.payload).toMatchObject({ reason: 'uncertain' });
});

describe('a worker that comes to it after the time of its attempt', () => {
  const frozen = (meanwhile: () => Promise<unknown> = () => Promise.resolve()) => ({
    ...attempting.services,
    secrets: {
      async resolve(ref: string) {
        const secret = await attempting.services.secrets.resolve(ref);
        await meanwhile();
        const now = performance.now();
        jest.spyOn(performance, 'now').mockReturnValue(now + 60_000);
        return secret;
      },
    },
  });
  afterEach(() => jest.restoreAllMocks());

  test('sends nothing, and it is tried again', async () => {
    const ref = await stored({ auth: { kind: 'bearer' } });
    expect(await callsOf(() => attempt(ref, frozen()))).toBe(0);
    expect(await rowOf(ref)).toMatchObject({ state: 'Dispatched', reason: 'not_begun' });
    jest.restoreAllMocks();
    expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
  });

  test('sends nothing where others have given it up, and its word is kept for whoever decides', async () => {
    const ref = await stored({ auth: { kind: 'bearer' } });
    const others = () => attempt(ref, attempting.services, true);
    expect(await callsOf(() => attempt(ref, frozen(others)))).toBe(0);
    expect(await rowOf(ref)).toMatchObject({ state: 'Failed', reason: 'uncertain' });
    const [row] = await db.rows(
      'select late_evidence from waybill.delivery_attempts where delivery_id = $1',
      [ref.deliveryId],
    );
    expect(row?.['late_evidence']).toMatchObject({ outcome: 'not_sent', reason: 'not_begun' });
  });

  test('nor does one that was told to stop before it has begun', async () => {
    const ref = await stored({});
    const stopped = { owner: 'test', takeOver: false, signal: AbortSignal.abort() };
    const told = await makeAttempt(attempting.services, ref, stopped);
    expect(told).toMatchObject({ kind: 'retry', reason: 'not_begun', dueInMs: 0 });
  });
});

describe('after a restore', () => {
  const restored = async () => {
    for (const step of [beginRecovery, endRecovery]) await step(db.as('waybill_operations'), 'ada');
  };

  async function failed(changes: Partial<HttpOperation> = {}) {
    const ref = await stored(changes);
    vendor.answers.push({ status: 404, body: 'no such order' });
    expect(await attempt(ref)).toMatchObject({ kind: 'failed', reason: 'permanent_refusal' });
    return ref;
  }

  test('what had failed may have been replayed since: it is replayed only where that is confirmed', async () => {
    const [ref, reads] = [await failed(), await failed({ sideEffect: 'read' })];
    await restored();
    await restored();
    const row = await rowOf(ref);
    expect(row).toMatchObject({ state: 'Failed', reason: 'permanent_refusal', uncertain: true });
    expect(row?.detail).toMatch(/^the target answered 404; the database was restored[^;]*$/);
    expect(await replay(ref)).toEqual({ kind: 'uncertain' });
    expect(await replay(ref, true)).toMatchObject({ kind: 'replayed' });
    expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
    expect(await rowOf(reads)).toMatchObject({ uncertain: false });
    expect(await replay(reads)).toMatchObject({ kind: 'replayed' });
  });

  test('what only reads goes on', async () => {
    const ref = await stored({ sideEffect: 'read' });
    await restored();
    expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
  });

  test('what was stored longer ago than the vendor knows keys does not', async () => {
    const [old, young] = [await stored(KEYED), await stored(KEYED)];
    await db.rows(
      `update waybill.deliveries set received_at = received_at - interval '25 hours' where delivery_id = $1`,
      [old.deliveryId],
    );
    await restored();
    expect(await attempt(old)).toMatchObject(UNSENT);
    expect(await attempt(young)).toMatchObject({ kind: 'acknowledged' });
  });
});
