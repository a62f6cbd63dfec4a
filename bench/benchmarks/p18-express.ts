/**
 * P18/express, fairness in the express lane: the same as P18 with a healthy tenant of more deliveries and one
 * that floods with many more, since a delivery of this lane costs a fraction of a workflow's. What hangs costs a
 * workflow each, and comes at the rate of P18.
 */
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import {
  besideOthers,
  byItself,
  closeFairBooks,
  offered,
  startNeighbours,
  type Neighbours,
} from '../fairness';
import type { Answers, Books } from '../ledger';
import { percentile, playRounds } from '../rounds';

const SECONDS = 15;
/** Deliveries a second. */
const RATES = { healthy: 20, flooding: 100, hanging: 4 } as const;
const WARM_UP_SECONDS = 3;
const GOAL_RATIO = 1.5;

export const p18Express: Benchmark = {
  id: 'P18/express',
  what: 'the same as P18 in the express lane, p95, against the healthy tenant alone',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const neighbours = await startNeighbours(bench, closers, {
    name: 'p18-express',
    lane: 'express',
  });
  const { busy, calm, flows } = neighbours;
  const { healthy, alone } = flows;
  const value = (seconds: number) => besideOthers(bench, neighbours, RATES, seconds);
  const baseline = (seconds: number) => byItself(bench, neighbours, RATES.healthy, seconds);
  for (const side of [value, baseline]) await side(WARM_UP_SECONDS);
  // As autovacuum does for tables in use: plans of empty ones read all that they have.
  for (const { database } of [busy, calm]) await database.run('vacuum analyze');
  const contest = { value: () => value(SECONDS), baseline: () => baseline(SECONDS) };
  const [played] = await playRounds([contest], bench.rounds, (round) => {
    bench.progress(`P18/express round ${round} of ${bench.rounds}`);
  });
  if (played === undefined) throw new Error('P18/express was not played');
  const { imbalances } = await closeBooks(bench, neighbours);
  return {
    ...{ id: 'P18/express', what: 'send to receipt of a healthy tenant, express lane, p95' },
    unit: 'ms',
    ...played,
    goal: { of: 'ratio', atMost: GOAL_RATIO },
    success: { value: healthy.answers.success, baseline: alone.answers.success },
    imbalances,
    notes: [
      offered(neighbours, RATES, SECONDS),
      `of that, request to answer p95 ${answeredMs(healthy)} ms, alone ${answeredMs(alone)} ms`,
    ],
  };
}

function answeredMs({ answers }: { readonly answers: Answers }): string {
  return percentile(answers.latenciesMs, 0.95).toFixed(1);
}

/** Whoever is well was driven by the loop alone, called once for each, and needed no workflow. */
async function closeBooks(bench: Bench, neighbours: Neighbours): Promise<Books> {
  const { busy, calm, flows } = neighbours;
  const books = await closeFairBooks(neighbours);
  const rows = await busy.database.counts(`
    select count(*) filter (where tenant_id = 'bench') as healthy,
      count(*) filter (where tenant_id = 'flooding') as flooding
    from waybill.deliveries where driver = 'loop' and state = 'Acknowledged' and attempts = 1`);
  for (const name of ['healthy', 'flooding'] as const) {
    const { accepted } = flows[name].answers;
    books.equal(`by the loop alone, of the ${name} tenant`, rows[name], 'accepted', accepted);
    books.equal(`calls of the ${name} tenant`, flows[name].target.calls, 'accepted', accepted);
  }
  const alone = await calm.database.deliveries(`driver = 'loop' and state = 'Acknowledged'`);
  books.equal('by the loop alone, alone', alone, 'accepted', flows.alone.answers.accepted);
  for (const { taskQueue } of [busy, calm]) {
    const closed = await bench.environment.temporal.count(taskQueue, 'Completed');
    books.equal('closed workflows', closed, 'of those that need none', 0);
  }
  return books;
}
