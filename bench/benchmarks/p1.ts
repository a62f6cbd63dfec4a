/**
 * P1, pairs: reservations and settlements a second, as workers make them, with 10,000 replicas of 1,000
 * tenants, counters and row-level security on; beside them the floor pair in the same database.
 */
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { closeRoutingBooks } from '../routing/books';
import { playPairs } from '../routing/contest';
import { PairCourse } from '../routing/course';
import { floorHands } from '../routing/floor';
import { sqlHands } from '../routing/hands';
import { MANY_TENANTS } from '../routing/shapes';
import { laySite } from '../routing/site';

const PAIRS = 1_000;
const GOAL_RATIO = 0.9;

export const p1: Benchmark = {
  id: 'P1',
  what: 'reserve and settle over 10,000 replicas, against the same row writes with nothing decided',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const { environment, signal } = bench;
  const site = await laySite({ environment, closers, shape: MANY_TENANTS });
  const db = site.as('waybill_data');
  const ours = sqlHands((statement, values) => db.query(statement, values));
  const floor = await floorHands(site, db);
  const value = new PairCourse({ site, signal, name: 'value', hands: ours });
  const baseline = new PairCourse({ site, signal, name: 'floor', hands: floor });
  return await playPairs(bench, {
    ...{ id: 'P1', what: 'reserve and settle, 10,000 replicas of 1,000 tenants', pairs: PAIRS },
    ...{ value, baseline, goal: { of: 'ratio', atLeast: GOAL_RATIO } },
    closeBooks: (books) => closeRoutingBooks(books, site, { value, baseline }),
  });
}
