/**
 * P18, fairness: from a signed request of a healthy tenant to the call of its target, p95, while the
 * target of another tenant hangs and a third tenant floods; beside it the same tenant alone, in a
 * deployment of its own. The machine is not saturated: all rates together are half of what it can do.
 *
 * P18/load takes it apart: the same tenant beside as many deliveries of another one whose target is well.
 * What P18 has beyond that is what hanging and flooding cost; the rest is what load costs.
 */
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { besideOthers, byItself, closeFairBooks, offered, startNeighbours } from '../fairness';
import { playRounds } from '../rounds';

const SECONDS = 15;
/** Deliveries a second. */
const RATES = { healthy: 5, flooding: 10, hanging: 4 } as const;
const LOAD = { ...RATES, flooding: RATES.flooding + RATES.hanging, hanging: 0 } as const;
const WARM_UP_SECONDS = 3;
const GOAL_RATIO = 1.5;

export const p18: Benchmark = {
  id: 'P18',
  what: 'a healthy tenant while one target hangs and one tenant floods, p95, against it alone',
  run: (bench) => closing((closers) => measure(bench, closers)),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure[]> {
  const neighbours = await startNeighbours(bench, closers, { name: 'p18', lane: 'durable' });
  const { healthy, alone } = neighbours.flows;
  const value = (seconds: number) => besideOthers(bench, neighbours, RATES, seconds);
  const loaded = (seconds: number) => besideOthers(bench, neighbours, LOAD, seconds);
  const baseline = (seconds: number) => byItself(bench, neighbours, RATES.healthy, seconds);
  for (const side of [value, baseline]) await side(WARM_UP_SECONDS);
  const contests = [value, loaded].map((side) => ({
    value: () => side(SECONDS),
    baseline: () => baseline(SECONDS),
  }));
  const [fair, load] = await playRounds(contests, bench.rounds, (round) => {
    bench.progress(`P18 round ${round} of ${bench.rounds}`);
  });
  if (fair === undefined || load === undefined) throw new Error('P18 was not played');
  const { imbalances } = await closeFairBooks(neighbours);
  const common = {
    unit: 'ms',
    success: { value: healthy.answers.success, baseline: alone.answers.success },
    imbalances,
  };
  return [
    {
      ...{ id: 'P18', what: 'receive to first dispatch of a healthy tenant, p95' },
      ...common,
      ...fair,
      goal: { of: 'ratio', atMost: GOAL_RATIO },
      notes: [offered(neighbours, RATES, SECONDS)],
    },
    {
      ...{ id: 'P18/load', what: 'the same beside as many deliveries to a target that is well' },
      ...common,
      ...load,
      goal: { of: 'books' },
      notes: [],
    },
  ];
}
