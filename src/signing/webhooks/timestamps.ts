import type { TimestampUnit } from '../../schemas/webhook-schemes/fields';

// The range of a JavaScript date. Larger numbers are no instants.
const maxInstantMs = 8.64e15;
const isoInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/**
 * Reads a timestamp in the scheme's unit, which is never guessed: digits alone for seconds and
 * milliseconds, RFC 3339 with an offset for `iso`. Answers ms since the epoch, or null where the text
 * is nothing of that kind (a sign, a fraction, an exponent, an instant beyond the range of dates).
 */
export function readTimestamp(unit: TimestampUnit, text: string): number | null {
  if (unit === 'iso') {
    const ms = isoInstant.test(text) ? Date.parse(text) : NaN;
    return Number.isNaN(ms) ? null : ms;
  }
  if (!/^\d{1,16}$/.test(text)) return null;
  const ms = unit === 's' ? Number(text) * 1000 : Number(text);
  return ms <= maxInstantMs ? ms : null;
}
