/**
 * A provider that wants to be left alone. Real: client, host kit, signatures. Doubled: the store is the
 * one in memory, the connector does what the test says.
 */
import type { HostClient } from '../../../src/hosts/client';
import { provesNotStarted } from '../../../src/hosts/client/results';
import type { Host } from '../../../src/hosts/kit/host';
import type { SigningKey } from '../../../src/signing/keys';
import { callTo, clientOf, json, newKey } from '../support/fixtures';
import { DONE, hostOver, Work } from '../support/work';

let keys: { host: SigningKey; waybill: SigningKey };
let client: HostClient;
let host: Host;
let work: Work;
const failures: unknown[] = [];
const BODY = json({ title: 'Broken lamp' });

beforeAll(async () => {
  keys = { host: await newKey(), waybill: await newKey() };
  client = clientOf(keys.waybill);
});
beforeEach(async () => {
  work = new Work();
  failures.length = 0;
  host = await hostOver(work, keys, { failed: (error: unknown) => void failures.push(error) });
});
afterEach(() => host.stop());
afterAll(() => client.close());

const refused = (retryAfterMs: number, started: boolean, highestFence = 10) => ({
  ...{ kind: 'refused', refusal: 'rate_limited', started, highestFence, retryAfterMs },
  storeEpoch: host.storeEpoch,
});

test('the host says that nothing began, and for how long to wait; later the action is done', async () => {
  const call = callTo(host, { fence: 10 });
  const sent = client.execute(call, BODY);
  (await work.times(1)).putOff(1_500.2);
  const result = await sent;
  expect(result).toEqual(refused(1_501, false));
  expect(provesNotStarted(result)).toBe(true);
  expect(failures).toEqual([]);
  const again = client.execute({ ...call, fence: 11 }, BODY);
  (await work.times(2)).finish(DONE);
  expect(await again).toMatchObject({ outcome: DONE });
  expect(work.recoveries).toBe(0);
});

test('nothing of it is known any more: it can be sealed, or cancelled', async () => {
  const sealed = callTo(host, { fence: 10 });
  const first = client.execute(sealed, BODY);
  (await work.times(1)).putOff(10);
  await first;
  const seal = await client.reconcile({ ...sealed, fence: 12 });
  expect(seal).toMatchObject({ outcome: { kind: 'not_started' } });
  const cancelled = callTo(host, { fence: 10 });
  const second = client.execute(cancelled, BODY);
  (await work.times(2)).putOff(10);
  await second;
  const cancel = await client.cancel({ ...cancelled, fence: 12 });
  expect(cancel).toMatchObject({ outcome: { kind: 'cancelled' } });
});

test('a cancel while the connector is at work ends what the provider put off', async () => {
  const call = callTo(host, { fence: 10 });
  const sent = client.execute(call, BODY);
  const began = await work.times(1);
  const cancel = client.cancel({ ...call, fence: 11 });
  began.context.signal.addEventListener('abort', () => {
    began.putOff(10);
  });
  expect(await cancel).toMatchObject({ outcome: { kind: 'cancelled' } });
  expect(await sent).toMatchObject({ kind: 'refused', refusal: 'rate_limited' });
  expect(work.begun).toHaveLength(1);
});

test('where an earlier try may have had its effect, the host does not call it nothing', async () => {
  const call = callTo(host, { fence: 10 });
  const sent = client.execute(call, BODY);
  (await work.times(1)).lose();
  await sent;
  work.finds = { kind: 'repeatable' };
  const retry = client.execute({ ...call, fence: 11 }, BODY);
  (await work.times(2)).putOff(2_000);
  const result = await retry;
  expect(result).toEqual(refused(2_000, true, 11));
  expect(provesNotStarted(result)).toBe(false);
  work.finds = { kind: 'unknown' };
  const asked = await client.reconcile({ ...call, fence: 12 });
  expect(asked).toMatchObject({ outcome: { kind: 'unknown' } });
});

test.each([
  [1e12, 86_400_000],
  [Number.NaN, 86_400_000],
  [-5, 0],
])('a wish of %d ms is told as %d', async (wished, told) => {
  const sent = client.execute(callTo(host, { fence: 10 }), BODY);
  (await work.times(1)).putOff(wished);
  expect(await sent).toEqual(refused(told, false));
});
