/**
 * P14, what a durable delivery that succeeds at once leaves in Temporal: events of its history,
 * beside those of a bare one-activity workflow. The worst one counts.
 */
import { Closers } from '../../src/workers/closers';
import type { Bench, Benchmark, Figure } from '../benchmark';
import { startCourses, type Course } from '../courses';
import { Books } from '../ledger';
import { spreadOf } from '../rounds';

const DELIVERIES = 32;
const GOAL_EVENTS = 11;

export const p14: Benchmark = {
  id: 'P14',
  what: 'history events of a delivery that succeeds at once',
  run: async (bench) => {
    const closers = new Closers();
    try {
      const { value, baseline } = await startCourses(bench, closers, 'p14');
      for (const course of [value, baseline]) await course.run(DELIVERIES);
      return [await figure(bench, value, baseline)];
    } finally {
      await closers.close();
    }
  },
};

async function figure(bench: Bench, value: Course, baseline: Course): Promise<Figure> {
  const [ours, bare] = [await historyLengths(bench, value), await historyLengths(bench, baseline)];
  const books = new Books();
  for (const [name, course, lengths] of [
    ['deliveries', value, ours],
    ['deliveries of the baseline', baseline, bare],
  ] as const) {
    books.answers(name, course.answers);
    books.equal(`histories of ${name}`, lengths.length, 'accepted', course.answers.accepted);
    books.equal(`calls for ${name}`, course.target.calls, 'accepted', course.answers.accepted);
  }
  return {
    id: 'P14',
    what: 'history of a delivery that succeeds at once',
    unit: 'events',
    value: spreadOf(ours),
    baseline: spreadOf(bare),
    ratios: null,
    goal: { of: 'value', atMost: GOAL_EVENTS },
    success: { value: value.answers.success, baseline: baseline.answers.success },
    imbalances: books.imbalances,
    notes: [],
  };
}

async function historyLengths(bench: Bench, course: Course): Promise<number[]> {
  const { client } = bench.environment.temporal;
  const lengths: number[] = [];
  const query = `TaskQueue = '${course.taskQueue}' AND ExecutionStatus = 'Completed'`;
  for await (const { historyLength } of client.workflow.list({ query })) {
    lengths.push(historyLength);
  }
  return lengths;
}
