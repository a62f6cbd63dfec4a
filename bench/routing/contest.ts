/** Two courses against each other: rounds of pairs, and the figure that comes of them. */
import type { Bench, Figure, Goal } from '../benchmark';
import { POOL_SIZE } from '../deployment';
import { Books } from '../ledger';
import { percentile, playRounds } from '../rounds';
import { SENDERS } from '../senders';
import type { PairCourse } from './course';

export interface PairContest {
  readonly id: string;
  readonly what: string;
  readonly value: PairCourse;
  readonly baseline: PairCourse;
  /** Pairs of each side in each round. */
  readonly pairs: number;
  readonly goal: Goal;
  /** After the last round. */
  readonly closeBooks: (books: Books) => Promise<void>;
}

export async function playPairs(bench: Bench, contest: PairContest): Promise<Figure> {
  const { id, what, value, baseline, pairs, goal } = contest;
  for (const course of [value, baseline]) await course.begin(pairs);
  const sides = {
    value: () => value.pairsPerSecond(pairs),
    baseline: () => baseline.pairsPerSecond(pairs),
  };
  const [played] = await playRounds([sides], bench.rounds, (round) => {
    bench.progress(`${id} round ${round} of ${bench.rounds}`);
  });
  if (played === undefined) throw new Error(`${id} was not played`);
  const books = new Books();
  await contest.closeBooks(books);
  return {
    ...{ id, what, unit: 'pairs/s' },
    ...played,
    goal,
    success: { value: value.success, baseline: baseline.success },
    imbalances: books.imbalances,
    notes: [
      `${SENDERS} senders in a closed loop over ${POOL_SIZE} connections, ${pairs} pairs a round`,
      `a pair takes ${times(value)}; of the baseline ${times(baseline)}`,
    ],
  };
}

function times({ pairMs }: PairCourse): string {
  const at = (share: number): string => percentile(pairMs, share).toFixed(0);
  return `p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, at most ${at(1)} ms`;
}
