/** Durations as people write them. */
import { z } from 'zod';

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `250ms`, `30s`, `5m`, `2h`, `7d` → whole milliseconds. At most 365 days. */
export const Duration = z.string().transform((text, context): number => {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  const ms = Number(match?.[1]) * (UNITS_MS[match?.[2] ?? ''] ?? Number.NaN);
  if (Number.isNaN(ms) || ms > 365 * 86_400_000) {
    context.addIssue({
      code: 'custom',
      message: 'write a duration such as 250ms, 30s, 5m, 2h, 7d',
    });
    return z.NEVER;
  }
  return ms;
});

/** Whole milliseconds as people write them, in the largest unit that says them exactly. */
export function durationText(ms: number): string {
  const units = Object.entries(UNITS_MS).filter(([, unit]) => ms >= unit && ms % unit === 0);
  const [name, unit] = units.at(-1) ?? ['ms', 1];
  return `${ms / unit}${name}`;
}
