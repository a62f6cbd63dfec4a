/** What a process with a clock of its own is told, and says. */

/** Names the file with the milliseconds that it is ahead. */
export const CLOCK_VARIABLE = 'QUALIFICATION_CLOCK_FILE';

/** What it writes when its clock has jumped. */
export function clockLine(aheadMs: number): string {
  return JSON.stringify({ clockAheadMs: aheadMs });
}
