/**
 * P3, what the product's own layer costs: the pairs of P1 through the ports of `src/db`; beside them the
 * same statements on the bare driver, over as many connections to the same database.
 */
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { bareHands } from '../routing/bare';
import { closeRoutingBooks } from '../routing/books';
import { playPairs } from '../routing/contest';
import { PairCourse } from '../routing/course';
import { portHands } from '../routing/hands';
import { MANY_TENANTS } from '../routing/shapes';
import { laySite } from '../routing/site';

const PAIRS = 1_000;
const GOAL_RATIO = 0.9;

export const p3: Benchmark = {
  id: 'P3',
  what: 'reserve and settle through the ports, against the same statements on the bare driver',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const { environment, signal } = bench;
  const site = await laySite({ environment, closers, shape: MANY_TENANTS });
  const bare = bareHands(site);
  closers.add(bare.close);
  const ours = portHands(site.as('waybill_data'));
  const value = new PairCourse({ site, signal, name: 'value', hands: ours });
  const baseline = new PairCourse({ site, signal, name: 'bare', hands: bare.hands });
  return await playPairs(bench, {
    ...{ id: 'P3', what: 'reserve and settle through the ports', pairs: PAIRS },
    ...{ value, baseline, goal: { of: 'ratio', atLeast: GOAL_RATIO } },
    closeBooks: (books) => closeRoutingBooks(books, site, { value, baseline }),
  });
}
