/**
 * P7, contention: 32 callers with a connection each reserve and settle on one replica that has room for
 * all of them. Whoever is told that there is no capacity was told something false.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { Books } from '../ledger';
import { percentile, spreadOf } from '../rounds';
import { closeRoutingBooks } from '../routing/books';
import { PairCourse } from '../routing/course';
import { portHands, type Hands } from '../routing/hands';
import { ROOM, type Shape } from '../routing/shapes';
import { laySite } from '../routing/site';
import { SENDERS } from '../senders';

const PAIRS = 500;
/** As a worker waits that was told that others hold what it wants. */
const PAUSE_MS = 50;

const SHAPE: Shape = {
  ...{ tenants: 1, capabilities: 1, replicas: 1, capacity: ROOM, retained: 50_000 },
  limits: null,
};

export const p7: Benchmark = {
  id: 'P7',
  what: 'false answers to 32 callers of one replica with room for all',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(
  { environment, signal, rounds, progress }: Bench,
  closers: Closers,
): Promise<Figure> {
  const site = await laySite({ environment, closers, shape: SHAPE });
  const told = new Map<string, number>();
  const hands = persistent(
    portHands(site.as('waybill_data', SENDERS), undefined, (_, { kind }) => {
      told.set(kind, (told.get(kind) ?? 0) + 1);
    }),
  );
  const course = new PairCourse({ site, signal, name: 'pair', hands });
  await course.begin(PAIRS);
  const falseBefore = falseOf(told);
  const falseAnswers: number[] = [];
  const rates: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    progress(`P7 round ${round} of ${rounds}`);
    const before = falseOf(told);
    rates.push(await course.pairsPerSecond(PAIRS));
    falseAnswers.push(falseOf(told) - before);
  }
  const books = new Books();
  await closeRoutingBooks(books, site, { value: course });
  books.equal('false answers of the warm-up', falseBefore, 'expected', 0);
  const { reserves, closes, pairMs } = course;
  books.equal('reservations got', reserves.taken, 'asked for', reserves.sent);
  books.equal('settlements', closes.taken, 'asked for', closes.sent);
  const kinds = [...told].map(([kind, count]) => `${kind} ${count}`).join(', ');
  const at = (share: number): string => percentile(pairMs, share).toFixed(0);
  return {
    ...{ id: 'P7', what: 'one replica, 32 callers, room for all', unit: 'false answers a round' },
    ...{ value: spreadOf(falseAnswers), baseline: null, ratios: null },
    goal: { of: 'value', atMost: 0 },
    success: { value: course.success, baseline: null },
    imbalances: books.imbalances,
    notes: [
      `${PAIRS} pairs a round over ${SENDERS} connections, ${spreadOf(rates).median.toFixed(0)} a second; ` +
        `answers: ${kinds}`,
      `a pair takes p50 ${at(0.5)}, p99 ${at(0.99)}, at most ${at(1)} ms`,
    ],
  };
}

/** All but a reservation, and that others held it just then. */
function falseOf(told: ReadonlyMap<string, number>): number {
  return [...told]
    .filter(([kind]) => kind !== 'reserved' && kind !== 'contended')
    .reduce((sum, [, count]) => sum + count, 0);
}

/** Asks again where others were in the way. */
function persistent(hands: Hands): Hands {
  return {
    ...hands,
    async reserve(ask) {
      for (;;) {
        const held = await hands.reserve(ask);
        if (held !== 'contended') return held;
        await delay(PAUSE_MS);
      }
    },
  };
}
