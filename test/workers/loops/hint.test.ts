/** Pauses of a loop, and calls, beside a signal that lasts as long as the process. Doubled: nothing. */
import { untilFirst } from '../../../src/domain/signals';
import { Hint } from '../../../src/workers/loops/hint';
import { keptBySignal } from '../../support/kept-by-signal';

test('a thousand pauses leave nothing with the signal, however they end', async () => {
  const { signal } = new AbortController();
  const hint = new Hint();
  for (let count = 0; count < 1_000; count += 1) {
    const over = hint.wait(count % 10 === 0 ? 1 : 60_000, signal);
    if (count % 10 !== 0) hint.wake();
    await over;
  }
  expect(keptBySignal(signal)).toBe(0);
});

test('a pause ends with the signal, also where that is over already, and at a hint given before', async () => {
  const stopping = new AbortController();
  const hint = new Hint();
  hint.wake();
  await hint.wait(60_000, stopping.signal);
  const over = hint.wait(60_000, stopping.signal);
  stopping.abort();
  await over;
  await hint.wait(60_000, stopping.signal);
  expect(keptBySignal(stopping.signal)).toBe(0);
});

test('work ends with the first of its signals, and leaves nothing with the others', async () => {
  const { signal: process } = new AbortController();
  const caller = new AbortController();
  const ended = (signals: readonly AbortSignal[]) =>
    untilFirst(signals, (signal) => {
      caller.abort('has gone');
      return Promise.resolve<unknown>(signal.reason);
    });
  expect(await ended([process, caller.signal])).toBe('has gone');
  expect(await ended([process, AbortSignal.abort('over')])).toBe('over');
  await expect(untilFirst([process], () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(keptBySignal(process)).toBe(0);
});
