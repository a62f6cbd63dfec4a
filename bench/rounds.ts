/**
 * Interleaved rounds: value and baseline are measured in turn, many times, so that whatever else the
 * machine does falls on both. Which of the two begins changes from round to round.
 */

/** Measures once and answers a rate. */
export type Side = () => Promise<number>;

export interface Contest {
  readonly value: Side;
  readonly baseline: Side;
}

export interface Played {
  readonly value: Spread;
  readonly baseline: Spread;
  /** Value through baseline, round by round. */
  readonly ratios: Spread;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Fewer say nothing about the spread; the command line warns. */
export const MEANINGFUL_ROUNDS = 5;

/** Plays all contests in each round; the answers are in the order of the contests. */
export async function playRounds(
  contests: readonly Contest[],
  rounds: number,
  onRound: (round: number) => void,
): Promise<Played[]> {
  const samples = contests.map(() => ({ value: [] as number[], baseline: [] as number[] }));
  for (let round = 0; round < rounds; round += 1) {
    onRound(round + 1);
    for (const [at, contest] of contests.entries()) {
      const order = (['value', 'baseline'] as const).toSorted(() => (round % 2 === 0 ? 0 : -1));
      for (const side of order) samples[at]?.[side].push(await contest[side]());
    }
  }
  return samples.map(({ value, baseline }) => ({
    value: spreadOf(value),
    baseline: spreadOf(baseline),
    ratios: spreadOf(value.map((one, at) => one / (baseline[at] ?? Number.NaN))),
  }));
}

export function spreadOf(samples: readonly number[]): Spread {
  return {
    median: percentile(samples, 0.5),
    min: percentile(samples, 0),
    max: percentile(samples, 1),
  };
}

/** The sample at this share (0 to 1) of the sorted ones, between neighbours by their mean. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}
