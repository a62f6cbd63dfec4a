/** How long an action waits before its next try. Pure: randomness comes in. */
import { backoffMs } from './retry';

/** Before a reservation is asked for again: what the registry says, growing with each refusal. */
export function reserveDelayMs(retryInMs: number, refusals: number, random: number): number {
  const grown = Math.max(retryInMs, backoffMs(refusals + 1, 200, 30_000));
  return Math.round(grown + random * Math.min(grown / 4, LONGEST_JITTER_MS));
}

/** Spreads those that wait for one moment, without waiting much longer than it takes. */
const LONGEST_JITTER_MS = 10_000;

/** Before an action of which nothing began is sent again. */
export function resendDelayMs(attemptNo: number, random: number): number {
  // The default budget of five outlasts the lease of a host that died: its peers are not asked.
  return Math.round(backoffMs(attemptNo, 2_000, 60_000) * (1 + random / 4));
}

/** How long one call follows a host at work, by how often that was asked before. */
export function followMs(round: number): number {
  // Few enough calls in a week that the history of one run holds them.
  return backoffMs(Math.max(1, round), 30_000, 540_000);
}

/** Before a host is asked again what became of an action. */
export function askDelayMs(round: number, random: number): number {
  return Math.round(backoffMs(round + 1, 250, 30_000) * (1 + random / 4));
}
