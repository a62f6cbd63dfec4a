/**
 * One effect an action, over real sockets: repeats, fences, seals, cancels. Real: client, host kit,
 * signatures. Doubled: the store is the one in memory, the connector does what the test says.
 */
import type { HostCall, HostClient } from '../../../src/hosts/client';
import type { HostResult } from '../../../src/hosts/client/results';
import { provesNotStarted } from '../../../src/hosts/client/results';
import type { Host } from '../../../src/hosts/kit/host';
import type { SigningKey } from '../../../src/signing/keys';
import { callTo, clientOf, json, newKey } from '../support/fixtures';
import { DONE, hostOver, Work } from '../support/work';

let keys: { host: SigningKey; waybill: SigningKey };
let client: HostClient;
let host: Host;
let work: Work;
const BODY = json({ title: 'Broken lamp' });

beforeAll(async () => {
  keys = { host: await newKey(), waybill: await newKey() };
  client = clientOf(keys.waybill);
});
beforeEach(async () => {
  work = new Work();
  host = await hostOver(work, keys);
});
afterEach(async () => {
  await host.stop();
});
afterAll(async () => {
  await client.close();
});

function answered(outcome: unknown): unknown {
  return { kind: 'answered', outcome, storeEpoch: host.storeEpoch };
}

function at(call: HostCall, fence: number): HostCall {
  return { ...call, fence };
}

/** An action whose try was lost: the connector threw. */
async function lostAction(): Promise<HostCall> {
  const call = callTo(host);
  const sent = client.execute(call, BODY);
  (await work.times(1)).lose();
  expect(await sent).toEqual(answered({ kind: 'unknown' }));
  return call;
}

test('a repeat gets the stored result and makes no second effect', async () => {
  const call = callTo(host);
  const first = client.execute(call, BODY);
  (await work.times(1)).finish(DONE);
  expect(await first).toEqual(answered(DONE));
  expect(await client.execute(call, BODY)).toEqual(answered(DONE));
  expect(await client.execute(at(call, 11), BODY)).toEqual(answered(DONE));
  expect(await client.reconcile(at(call, 12))).toEqual(answered(DONE));
  expect(await client.cancel(at(call, 13))).toEqual(answered(DONE));
  expect(await client.read(call)).toEqual(answered(DONE));
  expect(work.begun).toHaveLength(1);
});

test('many at once are one call of the connector', async () => {
  const call = callTo(host);
  const all = Promise.all(Array.from({ length: 8 }, () => client.execute(call, BODY)));
  (await work.times(1)).finish(DONE);
  expect(await all).toEqual(Array.from({ length: 8 }, () => answered(DONE)));
  expect(work.begun).toHaveLength(1);
});

test('a final failure is stored as well', async () => {
  const failed = {
    kind: 'failed',
    errorCode: 'provider_refused',
    detail: 'no such queue',
  } as const;
  const call = callTo(host);
  const first = client.execute(call, BODY);
  (await work.times(1)).finish(failed);
  expect(await first).toEqual(answered(failed));
  expect(await client.execute(at(call, 11), BODY)).toEqual(answered(failed));
});

test('what takes long is answered as running, with its progress, and finishes', async () => {
  const call = callTo(host);
  const sent = client.execute(call, BODY);
  const began = await work.times(1);
  began.context.progress('half way');
  const running = answered({ kind: 'running', progress: 'half way' });
  expect(await sent).toEqual(running);
  expect(await client.reconcile(at(call, 11))).toEqual(running);
  expect(await client.read(call)).toEqual(running);
  began.finish(DONE);
  expect(await client.reconcile(at(call, 12))).toEqual(answered(DONE));
});

test('a lower fence is refused, with the highest that is known', async () => {
  const call = callTo(host);
  const first = client.execute(at(call, 10), BODY);
  (await work.times(1)).finish(DONE);
  await first;
  const stale = { kind: 'refused', refusal: 'stale_fence', started: true, highestFence: 10 };
  expect(await client.execute(at(call, 9), BODY)).toMatchObject(stale);
  expect(await client.reconcile(at(call, 9))).toMatchObject(stale);
  expect(await client.cancel(at(call, 9))).toMatchObject(stale);
});

test('a seal stops the late execute below it, and not the retry above', async () => {
  const call = callTo(host);
  const sealed = await client.reconcile(at(call, 20));
  expect(sealed).toEqual(answered({ kind: 'not_started' }));
  for (const fence of [19, 20]) {
    const late = await client.execute(at(call, fence), BODY);
    expect(late).toMatchObject({ refusal: 'stale_fence', started: false, highestFence: 20 });
    expect(provesNotStarted(late)).toBe(true);
  }
  expect(work.begun).toHaveLength(0);
  const retry = client.execute(at(call, 21), BODY);
  (await work.times(1)).finish(DONE);
  expect(await retry).toEqual(answered(DONE));
});

test('a lost try is recovered: the effect is found and becomes the result', async () => {
  const call = await lostAction();
  work.finds = DONE;
  expect(await client.reconcile(at(call, 11))).toEqual(answered(DONE));
  expect(await client.execute(at(call, 12), BODY)).toEqual(answered(DONE));
  expect(work.begun).toHaveLength(1);
});

test('a lost try that provably had no effect is sealed, and may be made again above', async () => {
  const call = await lostAction();
  work.finds = { kind: 'not_started' };
  expect(await client.reconcile(at(call, 11))).toEqual(answered({ kind: 'not_started' }));
  expect(await client.execute(at(call, 11), BODY)).toMatchObject({ refusal: 'stale_fence' });
  const retry = client.execute(at(call, 12), BODY);
  (await work.times(2)).finish(DONE);
  expect(await retry).toEqual(answered(DONE));
});

test('a lost try is not made again while nobody knows what it did', async () => {
  const call = await lostAction();
  expect(await client.execute(at(call, 11), BODY)).toEqual(answered({ kind: 'unknown' }));
  expect(await client.reconcile(at(call, 12))).toEqual(answered({ kind: 'unknown' }));
  expect(await client.cancel(at(call, 13))).toEqual(answered({ kind: 'unknown' }));
  expect(work.begun).toHaveLength(1);
  expect(work.recoveries).toBe(3);
});

test('a lost try is made again by an execute where repeating is safe, by nothing else', async () => {
  const call = await lostAction();
  work.finds = { kind: 'repeatable' };
  expect(await client.reconcile(at(call, 11))).toEqual(answered({ kind: 'unknown' }));
  const retry = client.execute(at(call, 12), BODY);
  const again = await work.times(2);
  expect(again.context.idempotencyKey).toBe(work.begun[0]?.context.idempotencyKey);
  again.finish(DONE);
  expect(await retry).toEqual(answered(DONE));
});

test('a cancel that overtakes the dispatch leaves a tombstone for every later execute', async () => {
  const call = callTo(host);
  const cancelled = answered({ kind: 'cancelled' });
  expect(await client.cancel(at(call, 11))).toEqual(cancelled);
  expect(await client.execute(at(call, 10), BODY)).toMatchObject({
    refusal: 'stale_fence',
    started: false,
  });
  expect(await client.execute(at(call, 12), BODY)).toEqual(cancelled);
  expect(work.begun).toHaveLength(0);
});

test('a cancel reaches the connector, which says what came of it', async () => {
  const call = callTo(host);
  const sent = client.execute(call, BODY);
  const began = await work.times(1);
  began.context.signal.addEventListener('abort', () => {
    began.finish({ kind: 'cancelled' });
  });
  expect(await client.cancel(at(call, 11))).toEqual(answered({ kind: 'cancelled' }));
  expect(await sent).toEqual(answered({ kind: 'cancelled' }));
});

test('a cancel that comes too late gets the result', async () => {
  const call = callTo(host);
  const sent = client.execute(call, BODY);
  const began = await work.times(1);
  const cancel = client.cancel(at(call, 11));
  began.context.signal.addEventListener('abort', () => {
    began.finish(DONE);
  });
  expect(await cancel).toEqual(answered(DONE));
  expect(await sent).toEqual(answered(DONE));
});

test('a cancel of a try that breaks off asks the recovery, and ends as a tombstone', async () => {
  const call = callTo(host);
  const sent = client.execute(call, BODY);
  const began = await work.times(1);
  began.context.signal.addEventListener('abort', () => {
    began.lose();
  });
  work.finds = { kind: 'not_started' };
  expect(await client.cancel(at(call, 11))).toEqual(answered({ kind: 'cancelled' }));
  await sent;
  expect(await client.execute(at(call, 12), BODY)).toEqual(answered({ kind: 'cancelled' }));
  expect(work.begun).toHaveLength(1);
});

test('the same action with another body or capability is a conflict', async () => {
  const call = callTo(host);
  const sent = client.execute(call, BODY);
  (await work.times(1)).finish(DONE);
  await sent;
  const other = await client.execute(at(call, 11), json({ title: 'Another' }));
  expect(other).toMatchObject({ kind: 'refused', refusal: 'request_conflict', started: true });
});

test('a refusal of a request never hides that the action has begun', async () => {
  const call = callTo(host);
  const sent = client.execute(call, BODY);
  await work.times(1);
  const refusals: HostResult[] = [
    await client.execute(at(call, 11), Buffer.from('no JSON')),
    await client.execute(
      { ...call, route: { ...call.route, capabilityId: 'tickets.close' } },
      BODY,
    ),
    await client.execute({ ...call, incarnation: 2 }, BODY),
  ];
  expect(refusals).toMatchObject([
    { refusal: 'request_invalid', started: true },
    { refusal: 'unknown_capability', started: true },
    { refusal: 'wrong_coordinates', started: true },
  ]);
  work.begun[0]?.finish(DONE);
  await sent;
});

test('a request that the capability cannot read starts nothing', async () => {
  const refused = await client.execute(callTo(host), json('a text'));
  expect(refused).toMatchObject({ refusal: 'request_invalid', started: false });
  expect(provesNotStarted(refused)).toBe(true);
});

test('a result that is too large or no JSON is a visible failure, also later', async () => {
  for (const [result, errorCode] of [
    ['x'.repeat(2_000_000), 'result_too_large'],
    [undefined, 'result_invalid'],
  ]) {
    const call = callTo(host);
    const sent = client.execute(call, BODY);
    (await work.times(work.begun.length + 1)).finish({ kind: 'succeeded', result });
    expect(await sent).toMatchObject({ outcome: { kind: 'failed', errorCode } });
    const later = await client.reconcile(at(call, 11));
    expect(later).toMatchObject({ outcome: { kind: 'failed', errorCode } });
  }
});

test('a draining host serves what is sent to it; a stopping one refuses what is new', async () => {
  await host.drain();
  const pinned = client.execute(callTo(host), BODY);
  const began = await work.times(1);
  const ready = { ...callTo(host).route, timeoutMs: 1_000, signal: new AbortController().signal };
  expect(await client.ready(ready)).toEqual({
    kind: 'read',
    value: { ready: false, reason: 'draining' },
  });
  const stopped = host.stop();
  const fresh = await client.execute(callTo(host), BODY);
  expect(fresh).toMatchObject({ refusal: 'draining', started: false });
  began.finish(DONE);
  expect(await pinned).toEqual(answered(DONE));
  await stopped;
  host = await hostOver(work, keys);
});
