/** Doubled: the clock and the provider, which counts its reads. */
import { cachedSecrets } from '../../src/secrets/cache';
import { resolvedSecret, SecretError } from '../../src/secrets/provider';

function setUp(maxEntries?: number) {
  const state = { nowMs: 0, reads: [] as string[], value: 'one', fails: false };
  const provider = {
    resolve: (ref: string) => {
      state.reads.push(ref);
      if (state.fails) return Promise.reject(new SecretError('not_found', `secret ${ref} is gone`));
      return Promise.resolve(resolvedSecret(ref, state.value));
    },
  };
  const options = { ttlMs: 1000, failureTtlMs: 100, nowMs: () => state.nowMs };
  const cache = cachedSecrets(
    provider,
    maxEntries === undefined ? options : { ...options, maxEntries },
  );
  const valueOf = async (ref: string) => (await cache.resolve(ref)).value.reveal();
  return { state, valueOf };
}

it('reads once within the time to live, and again after it', async () => {
  const { state, valueOf } = setUp();
  expect(await valueOf('env:A')).toBe('one');
  state.value = 'two';
  state.nowMs = 999;
  expect(await valueOf('env:A')).toBe('one');
  state.nowMs = 1000;
  expect(await valueOf('env:A')).toBe('two');
  expect(state.reads).toHaveLength(2);
});

it('simultaneous calls read once', async () => {
  const { state, valueOf } = setUp();
  await Promise.all([valueOf('env:A'), valueOf('env:A'), valueOf('env:B')]);
  expect(state.reads).toEqual(['env:A', 'env:B']);
});

it('keeps a failure for a moment, and uses no old value in its place', async () => {
  const { state, valueOf } = setUp();
  await valueOf('env:A');
  state.nowMs = 1000;
  state.fails = true;
  await expect(valueOf('env:A')).rejects.toThrow('env:A is gone');
  state.fails = false;
  state.nowMs = 1099;
  await expect(valueOf('env:A')).rejects.toThrow('env:A is gone');
  expect(state.reads).toHaveLength(2);
  state.nowMs = 1100;
  expect(await valueOf('env:A')).toBe('one');
});

it('holds a bounded number of references', async () => {
  const { state, valueOf } = setUp(2);
  for (const ref of ['env:A', 'env:B', 'env:C', 'env:C', 'env:A']) await valueOf(ref);
  expect(state.reads).toEqual(['env:A', 'env:B', 'env:C', 'env:A']);
});
