/** Times as people write and read them on the command line. */
import { InvalidArgumentError } from 'commander';
import { Duration } from '../../schemas/durations';

/** An instant as the API takes it. */
export function parseSince(text: string): string {
  const ago = Duration.safeParse(text);
  if (ago.success) return new Date(Date.now() - ago.data).toISOString();
  const instant = Date.parse(text);
  if (Number.isNaN(instant) || !/^\d{4}-/.test(text)) {
    throw new InvalidArgumentError(
      'Write a time such as 15m, 2h or 7d, or an instant such as 2026-01-31T12:00:00Z.',
    );
  }
  return new Date(instant).toISOString();
}

/** A length of time, in milliseconds. */
export function parseDuration(text: string): number {
  const read = Duration.safeParse(text);
  if (read.success) return read.data;
  throw new InvalidArgumentError('Write a time such as 30s, 5m or 2h.');
}

/** UTC without its fractions. */
export function secondsOf(instant: string): string {
  return instant.replace(/\.\d+Z$/, 'Z');
}
