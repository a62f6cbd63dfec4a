/**
 * P14, what a durable delivery and an action that succeed at once leave in Temporal: events of their
 * histories, beside those of a bare one-activity workflow. The worst one counts.
 */
import type { Closers } from '../../src/workers/closers';
import { startActionCourses } from '../action-courses';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { startCourses } from '../courses';
import { Books, type Answers } from '../ledger';
import { spreadOf } from '../rounds';

const COUNT = 32;

export const p14: Benchmark = {
  id: 'P14',
  what: 'history events of a delivery, and of an action, that succeeds at once',
  run: async (bench) => {
    const delivery = await closing((closers) => ofDeliveries(bench, closers));
    bench.signal.throwIfAborted();
    return [delivery, await closing((closers) => ofActions(bench, closers))];
  },
};

async function ofDeliveries(bench: Bench, closers: Closers): Promise<Figure> {
  const { value, baseline } = await startCourses(bench, closers, { name: 'p14' });
  for (const course of [value, baseline]) await course.run(COUNT);
  return await figure(bench, {
    ...{ id: 'P14', thing: 'delivery', goalEvents: 11 },
    value: { ...value, calls: value.target.calls },
    baseline: { ...baseline, calls: baseline.target.calls },
  });
}

async function ofActions(bench: Bench, closers: Closers): Promise<Figure> {
  const { value, baseline } = await startActionCourses(bench, closers, 'p14-actions');
  for (const course of [value, baseline]) await course.run(COUNT);
  return await figure(bench, {
    ...{ id: 'P14/action', thing: 'action', goalEvents: 13 },
    value: { ...value, calls: value.done.calls },
    baseline: { ...baseline, calls: baseline.done.calls },
  });
}

/** One side after its run. */
interface Side {
  readonly answers: Answers;
  readonly taskQueue: string;
  /** At its far end. */
  readonly calls: number;
}

interface Measured {
  readonly id: string;
  readonly thing: string;
  readonly goalEvents: number;
  readonly value: Side;
  readonly baseline: Side;
}

async function figure(
  bench: Bench,
  { id, thing, goalEvents, value, baseline }: Measured,
): Promise<Figure> {
  const [ours, bare] = [await historyLengths(bench, value), await historyLengths(bench, baseline)];
  const books = new Books();
  for (const [name, side, lengths] of [
    [`each ${thing}`, value, ours],
    [`each ${thing} of the baseline`, baseline, bare],
  ] as const) {
    books.answers(name, side.answers);
    books.equal(`histories of ${name}`, lengths.length, 'accepted', side.answers.accepted);
    books.equal(`calls for ${name}`, side.calls, 'accepted', side.answers.accepted);
  }
  return {
    id,
    what: `history of one ${thing} that succeeds at once`,
    unit: 'events',
    value: spreadOf(ours),
    baseline: spreadOf(bare),
    ratios: null,
    goal: { of: 'value', atMost: goalEvents },
    success: { value: value.answers.success, baseline: baseline.answers.success },
    imbalances: books.imbalances,
    notes: [],
  };
}

async function historyLengths(bench: Bench, side: Side): Promise<number[]> {
  const { temporal } = bench.environment;
  const lengths: number[] = [];
  for await (const { historyLength } of temporal.completed(side.taskQueue)) {
    lengths.push(historyLength);
  }
  return lengths;
}
