/** What the schemas of several API resources share. */
import { z } from 'zod';

/** Text that Postgres can hold and a log can show: no control characters, no half surrogates. */
export const PLAIN_TEXT = /^[^\p{Cc}\p{Cs}]*$/u;

/** A UTC instant as written: microseconds survive, which they would not in a JavaScript date. */
export const Instant = z.iso
  .datetime({ error: 'must be a UTC instant such as 2026-01-31T12:00:00Z' })
  .max(32)
  .regex(/^(?!0000)/, 'the year is out of range');

/** An instant in an answer. */
export const Answered = z.iso.datetime().describe('UTC, in microseconds.');

/** Why somebody did it, for the record. */
export function reasonText(maxLength: number) {
  return z
    .string()
    .trim()
    .min(1, 'say why, for the record')
    .max(maxLength)
    .regex(PLAIN_TEXT, 'must not contain control characters');
}

/** What every list takes beside its filters. */
export const paging = {
  limit: z
    .string()
    .regex(/^([1-9]\d?|1\d\d|200)$/, 'must be a whole number from 1 to 200')
    .transform(Number)
    .default(50)
    .describe('From 1 to 200; 50 without it.'),
  cursor: z
    .string()
    .max(500)
    .optional()
    .describe('nextCursor of the page before, with the same filters.'),
};

/** What every page says beside its rows. */
export const pageFields = {
  view: z.literal('live').describe('Rows as they are now: no snapshot is held between the pages.'),
  nextCursor: z.string().nullable().describe('Null on the last page.'),
};

/** A filter that is on or not there. */
export const Flag = z.literal('true', { error: 'is true, or left out' }).transform(() => true);
