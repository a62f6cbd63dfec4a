/**
 * One effect an action, over real sockets: repeats, fences, seals, cancels. Real: client, host kit,
 * signatures. Doubled: the store is the one in memory, the connector does what the test says.
 */
import type { HostResult } from '../../../src/hosts/client/results';
import { provesNotStarted } from '../../../src/hosts/client/results';
import { callTo, json } from '../support/fixtures';
import { at, BODY, hostAtWork } from '../support/host-at-work';
import { DONE } from '../support/work';

const kit = hostAtWork();

test('a repeat gets the stored result and makes no second effect', async () => {
  const call = callTo(kit.host);
  const first = kit.client.execute(call, BODY);
  (await kit.work.times(1)).finish(DONE);
  expect(await first).toEqual(kit.answered(DONE));
  expect(await kit.client.execute(call, BODY)).toEqual(kit.answered(DONE));
  expect(await kit.client.execute(at(call, 11), BODY)).toEqual(kit.answered(DONE));
  expect(await kit.client.reconcile(at(call, 12))).toEqual(kit.answered(DONE));
  expect(await kit.client.cancel(at(call, 13))).toEqual(kit.answered(DONE));
  expect(await kit.client.read(call)).toEqual(kit.answered(DONE));
  expect(kit.work.begun).toHaveLength(1);
});

test('many at once are one call of the connector', async () => {
  const call = callTo(kit.host);
  const all = Promise.all(Array.from({ length: 8 }, () => kit.client.execute(call, BODY)));
  (await kit.work.times(1)).finish(DONE);
  expect(await all).toEqual(Array.from({ length: 8 }, () => kit.answered(DONE)));
  expect(kit.work.begun).toHaveLength(1);
});

test('a final failure is stored as well', async () => {
  const failed = {
    kind: 'failed',
    errorCode: 'provider_refused',
    detail: 'no such queue',
  } as const;
  const call = callTo(kit.host);
  const first = kit.client.execute(call, BODY);
  (await kit.work.times(1)).finish(failed);
  expect(await first).toEqual(kit.answered(failed));
  expect(await kit.client.execute(at(call, 11), BODY)).toEqual(kit.answered(failed));
});

test('what takes long is answered as running, with its progress, and finishes', async () => {
  const call = callTo(kit.host);
  const sent = kit.client.execute(call, BODY);
  const began = await kit.work.times(1);
  began.context.progress('half way\n', 49.6);
  const progress = { note: 'half way ', percent: 50 };
  const running = kit.answered({ kind: 'running', progress });
  expect(await sent).toEqual(running);
  expect(await kit.client.reconcile(at(call, 11))).toEqual(running);
  expect(await kit.client.read(call)).toEqual(running);
  began.finish(DONE);
  expect(await kit.client.reconcile(at(call, 12))).toEqual(kit.answered(DONE));
});

test('a lower fence is refused, with the highest that is known', async () => {
  const call = callTo(kit.host);
  const first = kit.client.execute(at(call, 10), BODY);
  (await kit.work.times(1)).finish(DONE);
  await first;
  const stale = { kind: 'refused', refusal: 'stale_fence', started: true, highestFence: 10 };
  expect(await kit.client.execute(at(call, 9), BODY)).toMatchObject(stale);
  expect(await kit.client.reconcile(at(call, 9))).toMatchObject(stale);
  expect(await kit.client.cancel(at(call, 9))).toMatchObject(stale);
});

test('a seal stops the late execute below it, and not the retry above', async () => {
  const call = callTo(kit.host);
  const sealed = await kit.client.reconcile(at(call, 20));
  expect(sealed).toEqual(kit.answered({ kind: 'not_started' }));
  for (const fence of [19, 20]) {
    const late = await kit.client.execute(at(call, fence), BODY);
    expect(late).toMatchObject({ refusal: 'stale_fence', started: false, highestFence: 20 });
    expect(provesNotStarted(late)).toBe(true);
  }
  expect(kit.work.begun).toHaveLength(0);
  const retry = kit.client.execute(at(call, 21), BODY);
  (await kit.work.times(1)).finish(DONE);
  expect(await retry).toEqual(kit.answered(DONE));
});

test('a lost try is recovered: the effect is found and becomes the result', async () => {
  const call = await kit.lostAction();
  kit.work.finds = DONE;
  expect(await kit.client.reconcile(at(call, 11))).toEqual(kit.answered(DONE));
  expect(await kit.client.execute(at(call, 12), BODY)).toEqual(kit.answered(DONE));
  expect(kit.work.begun).toHaveLength(1);
});

test('a lost try that provably had no effect is sealed, and may be made again above', async () => {
  const call = await kit.lostAction();
  kit.work.finds = { kind: 'not_started' };
  expect(await kit.client.reconcile(at(call, 11))).toEqual(kit.answered({ kind: 'not_started' }));
  expect(await kit.client.execute(at(call, 11), BODY)).toMatchObject({ refusal: 'stale_fence' });
  const retry = kit.client.execute(at(call, 12), BODY);
  (await kit.work.times(2)).finish(DONE);
  expect(await retry).toEqual(kit.answered(DONE));
});

test('a lost try is not made again while nobody knows what it did', async () => {
  const call = await kit.lostAction();
  expect(await kit.client.execute(at(call, 11), BODY)).toEqual(kit.answered({ kind: 'unknown' }));
  expect(await kit.client.reconcile(at(call, 12))).toEqual(kit.answered({ kind: 'unknown' }));
  expect(await kit.client.cancel(at(call, 13))).toEqual(kit.answered({ kind: 'unknown' }));
  expect(kit.work.begun).toHaveLength(1);
  expect(kit.work.recoveries).toBe(3);
});

test('a lost try is made again by an execute where repeating is safe, by nothing else', async () => {
  const call = await kit.lostAction();
  kit.work.finds = { kind: 'repeatable' };
  expect(await kit.client.reconcile(at(call, 11))).toEqual(kit.answered({ kind: 'unknown' }));
  const retry = kit.client.execute(at(call, 12), BODY);
  const again = await kit.work.times(2);
  expect(again.context.idempotencyKey).toBe(kit.work.begun[0]?.context.idempotencyKey);
  again.finish(DONE);
  expect(await retry).toEqual(kit.answered(DONE));
});

test('a cancel that overtakes the dispatch leaves a tombstone for every later execute', async () => {
  const call = callTo(kit.host);
  const cancelled = kit.answered({ kind: 'cancelled' });
  expect(await kit.client.cancel(at(call, 11))).toEqual(cancelled);
  expect(await kit.client.execute(at(call, 10), BODY)).toMatchObject({
    refusal: 'stale_fence',
    started: false,
  });
  expect(await kit.client.execute(at(call, 12), BODY)).toEqual(cancelled);
  expect(kit.work.begun).toHaveLength(0);
});

test('a cancel reaches the connector, which says what came of it', async () => {
  const call = callTo(kit.host);
  const sent = kit.client.execute(call, BODY);
  const began = await kit.work.times(1);
  began.context.signal.addEventListener('abort', () => {
    began.finish({ kind: 'cancelled' });
  });
  expect(await kit.client.cancel(at(call, 11))).toEqual(kit.answered({ kind: 'cancelled' }));
  expect(await sent).toEqual(kit.answered({ kind: 'cancelled' }));
});

test('a cancel that comes too late gets the result', async () => {
  const call = callTo(kit.host);
  const sent = kit.client.execute(call, BODY);
  const began = await kit.work.times(1);
  const cancel = kit.client.cancel(at(call, 11));
  began.context.signal.addEventListener('abort', () => {
    began.finish(DONE);
  });
  expect(await cancel).toEqual(kit.answered(DONE));
  expect(await sent).toEqual(kit.answered(DONE));
});

test('a cancel of a try that breaks off asks the recovery, and ends as a tombstone', async () => {
  const call = callTo(kit.host);
  const sent = kit.client.execute(call, BODY);
  const began = await kit.work.times(1);
  began.context.signal.addEventListener('abort', () => {
    began.lose();
  });
  kit.work.finds = { kind: 'not_started' };
  expect(await kit.client.cancel(at(call, 11))).toEqual(kit.answered({ kind: 'cancelled' }));
  await sent;
  expect(await kit.client.execute(at(call, 12), BODY)).toEqual(kit.answered({ kind: 'cancelled' }));
  expect(kit.work.begun).toHaveLength(1);
});

test('the same action with another body or capability is a conflict', async () => {
  const call = callTo(kit.host);
  const sent = kit.client.execute(call, BODY);
  (await kit.work.times(1)).finish(DONE);
  await sent;
  const other = await kit.client.execute(at(call, 11), json({ title: 'Another' }));
  expect(other).toMatchObject({ kind: 'refused', refusal: 'request_conflict', started: true });
});

test('a refusal of a request never hides that the action has begun', async () => {
  const call = callTo(kit.host);
  const sent = kit.client.execute(call, BODY);
  await kit.work.times(1);
  const refusals: HostResult[] = [
    await kit.client.execute(at(call, 11), Buffer.from('no JSON')),
    await kit.client.execute(
      { ...call, route: { ...call.route, capabilityId: 'tickets.close' } },
      BODY,
    ),
    await kit.client.execute({ ...call, incarnation: 2 }, BODY),
  ];
  expect(refusals).toMatchObject([
    { refusal: 'request_invalid', started: true },
    { refusal: 'unknown_capability', started: true },
    { refusal: 'wrong_coordinates', started: true },
  ]);
  kit.work.begun[0]?.finish(DONE);
  await sent;
});

test('a request that the capability cannot read starts nothing', async () => {
  const refused = await kit.client.execute(callTo(kit.host), json('a text'));
  expect(refused).toMatchObject({ refusal: 'request_invalid', started: false });
  expect(provesNotStarted(refused)).toBe(true);
});

test('a result that is too large, too deep or no JSON is a visible failure, also later', async () => {
  for (const [result, errorCode] of [
    ['x'.repeat(2_000_000), 'result_too_large'],
    [undefined, 'result_invalid'],
    [JSON.parse('['.repeat(101) + ']'.repeat(101)) as unknown, 'result_invalid'],
  ]) {
    const call = callTo(kit.host);
    const sent = kit.client.execute(call, BODY);
    (await kit.work.times(kit.work.begun.length + 1)).finish({ kind: 'succeeded', result });
    expect(await sent).toMatchObject({ outcome: { kind: 'failed', errorCode } });
    const later = await kit.client.reconcile(at(call, 11));
    expect(later).toMatchObject({ outcome: { kind: 'failed', errorCode } });
  }
});

test.each([undefined, 'done', { kind: 'done' }])(
  'a connector that returns %j has said nothing: what it did is unknown, and stays so',
  async (returned) => {
    const call = callTo(kit.host);
    const sent = kit.client.execute(call, BODY);
    (await kit.work.times(1)).finish(returned as never);
    expect(await sent).toEqual(kit.answered({ kind: 'unknown' }));
    expect(await kit.client.reconcile(at(call, 11))).toEqual(kit.answered({ kind: 'unknown' }));
    expect(kit.work.begun).toHaveLength(1);
  },
);

test('a draining host serves what is sent to it; a stopping one refuses what is new', async () => {
  await kit.host.drain();
  const pinned = kit.client.execute(callTo(kit.host), BODY);
  const began = await kit.work.times(1);
  const ready = {
    ...callTo(kit.host).route,
    timeoutMs: 1_000,
    signal: new AbortController().signal,
  };
  expect(await kit.client.ready(ready)).toEqual({
    kind: 'read',
    value: { ready: false, reason: 'draining' },
  });
  const stopped = kit.host.stop();
  const fresh = await kit.client.execute(callTo(kit.host), BODY);
  expect(fresh).toMatchObject({ refusal: 'draining', started: false });
  began.finish(DONE);
  expect(await pinned).toEqual(kit.answered(DONE));
  await stopped;
});
