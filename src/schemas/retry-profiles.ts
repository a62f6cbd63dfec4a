/** Retry profiles: as people write them in a fleet file, and as rows hold them (milliseconds). */
import { z } from 'zod';
import { Duration } from './durations';

/** The normal form, as stored. */
export const RetryProfile = z.strictObject({
  attempts: z.int().min(1).max(100),
  backoff: z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('exponential'),
      baseMs: z.int().min(1),
      maxMs: z.int().min(1),
    }),
    z.strictObject({ kind: z.literal('list'), delaysMs: z.array(z.int().min(0)).min(1).max(100) }),
  ]),
  jitter: z.number().min(0).max(1),
  totalSpanMs: z.int().min(1).nullable(),
  retryAfterCapMs: z.int().min(0).max(86_400_000),
});
export type RetryProfile = z.infer<typeof RetryProfile>;

/** What the normal form takes. */
const Positive = Duration.pipe(z.number().min(1, 'must be at least 1ms'));
const AtMostADay = Duration.pipe(z.number().max(86_400_000, 'must be at most 1d'));

/**
 * As written: `{attempts: 5, backoff: exponential, base: 30s}` or
 * `{attempts: 4, backoff: [1s, 5s, 30s]}`, with optional `jitter`, `totalSpan`, `retryAfterCap`,
 * and for exponential backoff `max`.
 */
export const WrittenRetryProfile = z
  .strictObject({
    attempts: z.int().min(1).max(100),
    backoff: z.union([z.literal('exponential'), z.array(Duration).min(1).max(100)]),
    base: Positive.optional(),
    max: Positive.optional(),
    jitter: z.number().min(0).max(1).default(0.1),
    totalSpan: Positive.optional(),
    retryAfterCap: AtMostADay.default(3_600_000),
  })
  .refine((written) => written.backoff === 'exponential' || written.base === undefined, {
    path: ['base'],
    error: 'a list of delays takes no base',
  })
  .refine((written) => written.backoff === 'exponential' || written.max === undefined, {
    path: ['max'],
    error: 'a list of delays takes no max',
  })
  .refine((written) => written.backoff !== 'exponential' || written.base !== undefined, {
    path: ['base'],
    error: 'exponential backoff needs a base, e.g. 30s',
  })
  .transform((written): RetryProfile => {
    const { attempts, jitter, totalSpan, retryAfterCap } = written;
    return {
      attempts,
      backoff:
        written.backoff === 'exponential'
          ? { kind: 'exponential', baseMs: written.base ?? 0, maxMs: written.max ?? 3_600_000 }
          : { kind: 'list', delaysMs: written.backoff },
      jitter,
      totalSpanMs: totalSpan ?? null,
      retryAfterCapMs: retryAfterCap,
    };
  });
