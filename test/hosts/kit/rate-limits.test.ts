/**
 * A provider that wants to be left alone. Real: client, host kit, signatures. Doubled: the store is the
 * one in memory, the connector does what the test says.
 */
import { provesNotStarted } from '../../../src/hosts/client/results';
import { callTo } from '../support/fixtures';
import { BODY, hostAtWork } from '../support/host-at-work';
import { DONE } from '../support/work';

const failures: unknown[] = [];
const kit = hostAtWork({ failed: (error: unknown) => void failures.push(error) });
beforeEach(() => {
  failures.length = 0;
});

const refused = (retryAfterMs: number, started: boolean, highestFence = 10) => ({
  ...{ kind: 'refused', refusal: 'rate_limited', started, highestFence, retryAfterMs },
  storeEpoch: kit.host.storeEpoch,
});

test('the host says that nothing began, and for how long to wait; later the action is done', async () => {
  const call = callTo(kit.host, { fence: 10 });
  const sent = kit.client.execute(call, BODY);
  (await kit.work.times(1)).putOff(1_500.2);
  const result = await sent;
  expect(result).toEqual(refused(1_501, false));
  expect(provesNotStarted(result)).toBe(true);
  expect(failures).toEqual([]);
  const again = kit.client.execute({ ...call, fence: 11 }, BODY);
  (await kit.work.times(2)).finish(DONE);
  expect(await again).toMatchObject({ outcome: DONE });
  expect(kit.work.recoveries).toBe(0);
});

test('nothing of it is known any more: it can be sealed, or cancelled', async () => {
  const sealed = callTo(kit.host, { fence: 10 });
  const first = kit.client.execute(sealed, BODY);
  (await kit.work.times(1)).putOff(10);
  await first;
  const seal = await kit.client.reconcile({ ...sealed, fence: 12 });
  expect(seal).toMatchObject({ outcome: { kind: 'not_started' } });
  const cancelled = callTo(kit.host, { fence: 10 });
  const second = kit.client.execute(cancelled, BODY);
  (await kit.work.times(2)).putOff(10);
  await second;
  const cancel = await kit.client.cancel({ ...cancelled, fence: 12 });
  expect(cancel).toMatchObject({ outcome: { kind: 'cancelled' } });
});

test('a cancel while the connector is at work ends what the provider put off', async () => {
  const call = callTo(kit.host, { fence: 10 });
  const sent = kit.client.execute(call, BODY);
  const began = await kit.work.times(1);
  const cancel = kit.client.cancel({ ...call, fence: 11 });
  began.context.signal.addEventListener('abort', () => {
    began.putOff(10);
  });
  expect(await cancel).toMatchObject({ outcome: { kind: 'cancelled' } });
  expect(await sent).toMatchObject({ kind: 'refused', refusal: 'rate_limited' });
  expect(kit.work.begun).toHaveLength(1);
});

test('where an earlier try may have had its effect, the host does not call it nothing', async () => {
  const call = callTo(kit.host, { fence: 10 });
  const sent = kit.client.execute(call, BODY);
  (await kit.work.times(1)).lose();
  await sent;
  kit.work.finds = { kind: 'repeatable' };
  const retry = kit.client.execute({ ...call, fence: 11 }, BODY);
  (await kit.work.times(2)).putOff(2_000);
  const result = await retry;
  expect(result).toEqual(refused(2_000, true, 11));
  expect(provesNotStarted(result)).toBe(false);
  kit.work.finds = { kind: 'unknown' };
  const asked = await kit.client.reconcile({ ...call, fence: 12 });
  expect(asked).toMatchObject({ outcome: { kind: 'unknown' } });
});

test.each([
  [1e12, 86_400_000],
  [Number.NaN, 86_400_000],
  [-5, 0],
])('a wish of %d ms is told as %d', async (wished, told) => {
  const sent = kit.client.execute(callTo(kit.host, { fence: 10 }), BODY);
  (await kit.work.times(1)).putOff(wished);
  expect(await sent).toEqual(refused(told, false));
});
