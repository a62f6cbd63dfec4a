/**
 * P20, history: pairs in a database that keeps three million actions that are over, with their routes,
 * attempts and bytes; beside them pairs in one that keeps 50,000.
 */
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { closeRoutingBooks } from '../routing/books';
import { playPairs } from '../routing/contest';
import { PairCourse } from '../routing/course';
import { portHands } from '../routing/hands';
import { MANY_TENANTS } from '../routing/shapes';
import { laySite } from '../routing/site';

const PAIRS = 1_000;
const GOAL_RATIO = 0.97;
const MANY = 3_000_000;
const FEW = 50_000;

export const p20: Benchmark = {
  id: 'P20',
  what: 'reserve and settle beside 3,000,000 retained routes, against beside 50,000',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const { environment, signal, progress } = bench;
  const lay = async (retained: number) => {
    progress(`P20: making ${retained} retained routes`);
    const shape = { ...MANY_TENANTS, retained };
    const site = await laySite({ environment, closers, shape });
    const hands = portHands(site.as('waybill_data'));
    return { site, course: new PairCourse({ site, signal, name: 'new', hands }) };
  };
  const many = await lay(MANY);
  const few = await lay(FEW);
  return await playPairs(bench, {
    ...{ id: 'P20', what: 'reserve and settle, 3,000,000 retained routes', pairs: PAIRS },
    ...{ value: many.course, baseline: few.course, goal: { of: 'ratio', atLeast: GOAL_RATIO } },
    closeBooks: async (books) => {
      await closeRoutingBooks(books, many.site, { value: many.course });
      await closeRoutingBooks(books, few.site, { baseline: few.course });
    },
  });
}
