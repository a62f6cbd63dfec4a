/** Rotating the address of a subscription's ingress. Real: server, socket, Postgres, publications. */
import { insertCatalog } from '../support/catalog-fixture';
import { until } from '../support/until';
import { Harness, problem, SECRET } from './harness';
import { SubscriptionCalls, wish } from './subscription-calls';

let h: Harness;
let calls: SubscriptionCalls;
beforeAll(async () => {
  h = await Harness.start();
  calls = new SubscriptionCalls(h);
  await insertCatalog(h.db, { subscription: 'given' });
});
afterAll(() => h.stop());

const ask: SubscriptionCalls['ask'] = (...asked) => calls.ask(...asked);

test('rotating gives a new address at once, and the old one until its time is over', async () => {
  const { body: made } = await ask('', wish('rotated'));
  const old = made.ingress?.ref ?? '';
  const oldUntil = new Date(Date.now() + 1_500).toISOString();
  const { body } = await ask('/rotated/ingress/rotate', { oldUntil });
  const { ref = '', previous = [] } = body.ingress ?? {};
  expect(ref).not.toBe(old);
  expect(previous).toMatchObject([{ ref: old, works: true }]);
  expect((await h.post(ref, '{}')).status).toBe(202);
  expect((await h.post(old, '{"n":2}')).status).toBe(202);
  const gone = await until('the old address is gone', async () => {
    const answer = await h.post(old, '{"n":3}');
    return answer.status === 202 ? null : answer;
  });
  expect(problem(gone)).toMatchObject({ status: 410, code: 'ingress_gone' });
  expect((await h.post(ref, '{"n":4}', { secret: SECRET })).status).toBe(202);
  expect((await ask('/rotated')).body.ingress?.previous).toMatchObject([{ works: false }]);
});

test('rotating with one key is one rotation, and a day long without a word on it', async () => {
  await ask('', wish('keyed'));
  const first = await ask('/keyed/ingress/rotate', {}, { key: 'r' });
  const again = await ask('/keyed/ingress/rotate', {}, { key: 'r' });
  // As a process leaves it that dies before the answer is kept.
  await h.db.rows(
    `update waybill.idempotency_keys
      set answer_status = null, answer = null, leased_until = clock_timestamp()
      where idempotency_key = 'r'`,
  );
  const taken = await ask('/keyed/ingress/rotate', {}, { key: 'r' });
  expect(taken.headers.get('idempotent-replayed')).toBeNull();
  expect(taken.body).toEqual(first.body);
  expect(again.body).toEqual(first.body);
  const end = first.body.ingress?.previous[0]?.until ?? '';
  expect(Date.parse(end) - Date.now()).toBeGreaterThan(86_000_000);
  expect(Date.parse(end) - Date.now()).toBeLessThan(86_500_000);
});

test('rotating keeps ten old addresses', async () => {
  await ask('', wish('often'));
  for (let n = 0; n < 12; n += 1) await ask('/often/ingress/rotate', {});
  expect((await ask('/often')).body.ingress?.previous).toHaveLength(10);
});
