/**
 * P5, the hot tenant: all pairs are one tenant's, whose quota is one counter that each of them takes and
 * frees; beside them as many pairs that are spread over 100 tenants with a quota each.
 */
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { closeRoutingBooks } from '../routing/books';
import { playPairs } from '../routing/contest';
import { PairCourse } from '../routing/course';
import { portHands } from '../routing/hands';
import { ROOM, type Shape } from '../routing/shapes';
import { laySite } from '../routing/site';

const PAIRS = 1_000;
const SHAPE: Shape = {
  ...{ tenants: 100, capabilities: 10, replicas: 100, capacity: ROOM, retained: 50_000 },
  limits: { tenant: ROOM },
};

export const p5: Benchmark = {
  id: 'P5',
  what: 'reserve and settle of one tenant with a quota, against 100 tenants with one each',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const { environment, signal } = bench;
  const site = await laySite({ environment, closers, shape: SHAPE });
  const hands = portHands(site.as('waybill_data'));
  const place = (nth: number) => ({
    ...{ tenantId: 't0', capabilityId: `c${nth % SHAPE.capabilities}` },
  });
  const value = new PairCourse({ site, signal, name: 'hot', hands, place });
  const baseline = new PairCourse({ site, signal, name: 'even', hands });
  return await playPairs(bench, {
    ...{ id: 'P5', what: 'reserve and settle of one hot tenant', pairs: PAIRS },
    ...{ value, baseline, goal: { of: 'books' } },
    closeBooks: (books) => closeRoutingBooks(books, site, { value, baseline }),
  });
}
