/**
 * P6, the size of a fleet: pairs over 100,000 replicas of one binding; beside them pairs over 10. Both
 * fleets have seven tenths of their replicas in the preferred zone, and a tenth in each of three others.
 */
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import type { Books } from '../ledger';
import { closeRoutingBooks } from '../routing/books';
import { playPairs } from '../routing/contest';
import { PairCourse } from '../routing/course';
import { portHands } from '../routing/hands';
import { checkOrder, fillInOrder, PLACES, PREFERENCE } from '../routing/order';
import { ROOM, type Shape, type Site } from '../routing/shapes';
import { laySite } from '../routing/site';

const PAIRS = 1_000;
const GOAL_RATIO = 0.95;
const MANY = 100_000;
const FEW = 10;
/** Reservations one by one, each held against the whole order. */
const CHECKED = 50;

const SHAPE: Omit<Shape, 'replicas'> = {
  ...{ tenants: 1, capabilities: 1, capacity: ROOM, limits: null, retained: 50_000 },
  places: PLACES,
};

export const p6: Benchmark = {
  id: 'P6',
  what: 'reserve and settle over 100,000 replicas of one binding, against over 10',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

/** A fleet, the pairs over it, and what its answers say of the order. */
interface Fleet {
  readonly site: Site;
  readonly course: PairCourse;
  /** Answers that name a replica outside of the preferred zone, which always has room. */
  readonly astray: () => number;
}

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const many = await lay(bench, closers, MANY);
  const few = await lay(bench, closers, FEW);
  const figure = await playPairs(bench, {
    ...{ id: 'P6', what: 'reserve and settle, 100,000 replicas in one binding', pairs: PAIRS },
    ...{ value: many.course, baseline: few.course, goal: { of: 'ratio', atLeast: GOAL_RATIO } },
    closeBooks: async (books) => {
      await closeBooks(books, 'value', many);
      await closeBooks(books, 'baseline', few);
      books.equal('answers outside of the preferred tier', many.astray(), 'expected', 0);
      const { environment } = bench;
      const shape = { ...SHAPE, replicas: 40, capacity: 2, retained: 1 };
      const tiers = await laySite({ environment, closers, shape });
      const outOfOrder = await fillInOrder(tiers, 'tiers');
      books.equal('answers out of order while a fleet fills up', outOfOrder, 'expected', 0);
    },
  });
  const skipped =
    `${many.astray()} answers outside of the preferred tier; of the baseline ${few.astray()}, ` +
    'whose 7 replicas there were all locked by others just then';
  return { ...figure, notes: [...figure.notes, skipped] };
}

async function lay(bench: Bench, closers: Closers, replicas: number): Promise<Fleet> {
  const { environment, signal } = bench;
  const site = await laySite({ environment, closers, shape: { ...SHAPE, replicas } });
  let astray = 0;
  const hands = portHands(site.as('waybill_data'), PREFERENCE, (_, answer) => {
    if (answer.kind !== 'reserved') return;
    const { region, zone } = answer.route.topology;
    if (region !== PREFERENCE.region || zone !== PREFERENCE.zone) astray += 1;
  });
  const course = new PairCourse({ site, signal, name: 'pair', hands });
  return { site, course, astray: () => astray };
}

async function closeBooks(books: Books, name: string, fleet: Fleet): Promise<void> {
  await closeRoutingBooks(books, fleet.site, { [name]: fleet.course });
  const outOfOrder = await checkOrder(fleet.site, 'order', CHECKED);
  books.equal(`answers of ${name} out of order`, outOfOrder, 'expected', 0);
}
