/** The retry decision: pure, so asserted directly and by properties. Real: all of it. */
import fc from 'fast-check';
import type { RetryProfile } from '../../src/domain/retry';
import {
  DEFAULT_RETRY_PROFILE,
  backoffMs,
  decideRetry,
  parseRetryAfter,
  profileDelayMs,
} from '../../src/domain/retry';

const profiles: fc.Arbitrary<RetryProfile> = fc.record({
  attempts: fc.integer({ min: 1, max: 20 }),
  backoff: fc.oneof(
    fc.record({
      kind: fc.constant('exponential' as const),
      baseMs: fc.integer({ min: 1, max: 60_000 }),
      maxMs: fc.integer({ min: 1, max: 86_400_000 }),
    }),
    fc.record({
      kind: fc.constant('list' as const),
      delaysMs: fc.array(fc.integer({ min: 0, max: 86_400_000 }), { minLength: 1, maxLength: 10 }),
    }),
  ),
  jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  totalSpanMs: fc.option(fc.integer({ min: 1, max: 1_000_000_000 })),
  retryAfterCapMs: fc.integer({ min: 0, max: 86_400_000 }),
});

const facts = fc.record({
  attemptsUsed: fc.integer({ min: 1, max: 25 }),
  elapsedMs: fc.integer({ min: 0, max: 1_000_000_000 }),
  retryAfterMs: fc.option(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })),
  random: fc.double({ min: 0, max: 0.999, noNaN: true }),
});

test('no attempt is due earlier than the profile says, whatever the target asks for', () => {
  fc.assert(
    fc.property(profiles, facts, (profile, fact) => {
      const decision = decideRetry(profile, fact);
      if (!decision.retry) return;
      expect(decision.delayMs).toBeGreaterThanOrEqual(
        Math.floor(profileDelayMs(profile, fact.attemptsUsed)),
      );
    }),
  );
});

test('no attempt is due later than delay and jitter, or what the target asks for, make it', () => {
  fc.assert(
    fc.property(profiles, facts, (profile, fact) => {
      const decision = decideRetry(profile, fact);
      if (!decision.retry) return;
      const planned = profileDelayMs(profile, fact.attemptsUsed) * (1 + profile.jitter);
      const asked = Math.min(fact.retryAfterMs ?? 0, profile.retryAfterCapMs);
      expect(decision.delayMs).toBeLessThanOrEqual(Math.ceil(Math.max(planned, asked)));
    }),
  );
});

test('every delay is a whole number that a timer can hold', () => {
  fc.assert(
    fc.property(profiles, facts, (profile, fact) => {
      const decision = decideRetry(profile, fact);
      if (!decision.retry) return;
      expect(Number.isSafeInteger(decision.delayMs)).toBe(true);
      expect(decision.delayMs).toBeLessThanOrEqual(2 * 86_400_000);
    }),
  );
});

test('a series never has more attempts than its profile, nor a longer span', () => {
  fc.assert(
    fc.property(profiles, facts, (profile, fact) => {
      const decision = decideRetry(profile, fact);
      if (!decision.retry) return;
      expect(fact.attemptsUsed).toBeLessThan(profile.attempts);
      if (profile.totalSpanMs !== null) {
        expect(fact.elapsedMs + decision.delayMs).toBeLessThanOrEqual(profile.totalSpanMs);
      }
    }),
  );
});

test('the default is five attempts, 30 s apart at first and doubling', () => {
  const delays = [1, 2, 3, 4].map((used) => profileDelayMs(DEFAULT_RETRY_PROFILE, used));
  expect(delays).toEqual([30_000, 60_000, 120_000, 240_000]);
  const last = { attemptsUsed: 5, elapsedMs: 0, retryAfterMs: null, random: 0 };
  expect(decideRetry(DEFAULT_RETRY_PROFILE, last)).toEqual({
    retry: false,
    reason: 'attempts_exhausted',
  });
});

test('the last delay of a list repeats', () => {
  const profile = {
    ...DEFAULT_RETRY_PROFILE,
    backoff: { kind: 'list', delaysMs: [1, 5] },
  } as const;
  expect([1, 2, 3, 4].map((used) => profileDelayMs(profile, used))).toEqual([1, 5, 5, 5]);
});

test('Retry-After postpones up to the cap, and a span that is too short ends the series', () => {
  const profile = { ...DEFAULT_RETRY_PROFILE, jitter: 0, retryAfterCapMs: 90_000 };
  const asked = { attemptsUsed: 1, elapsedMs: 0, retryAfterMs: 10 ** 12, random: 0 };
  expect(decideRetry(profile, asked)).toEqual({ retry: true, delayMs: 90_000 });
  expect(decideRetry({ ...profile, totalSpanMs: 60_000 }, asked)).toEqual({
    retry: false,
    reason: 'span_exhausted',
  });
});

const NOW = Date.parse('Sun, 06 Nov 1994 08:49:37 GMT');

/** The table of a public bug report: a date read as "not a number", -3 read as a year. */
test.each([
  ['120', 120_000],
  ['0', 0],
  ['Sun, 06 Nov 1994 08:51:07 GMT', 90_000],
  ['Sunday, 06-Nov-94 08:51:07 GMT', 90_000],
  ['Sun Nov  6 08:51:07 1994', 90_000],
  ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
  ['99999999999', 99_999_999_999_000],
  ['9'.repeat(40), Number.MAX_SAFE_INTEGER],
  ['-3', null],
  ['1.5', null],
  ['1000abc', null],
  ['', null],
  ['120, 60', null],
  ['soon', null],
  ['Sun, nonsense', null],
])('Retry-After %j is %j ms', (field, expected) => {
  expect(parseRetryAfter(field, NOW)).toBe(expected);
});

test('no Retry-After is none', () => {
  expect(parseRetryAfter(null, NOW)).toBeNull();
});

test('plain backoff doubles up to its limit', () => {
  expect([0, 1, 2, 3, 100].map((nth) => backoffMs(nth, 100, 1_000))).toEqual([
    100, 100, 200, 400, 1_000,
  ]);
});
