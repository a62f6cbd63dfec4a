/**
 * P23, the express lane at a low rate: from a signed request to the target's receipt of it, at 50 deliveries a
 * second, by `waybill api` and `waybill worker`; beside them the floor relay of P22 at the same rate.
 */
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { startCourses, warmUp, type Course, type Courses } from '../courses';
import { percentile, playRounds } from '../rounds';
import { closeExpressBooks } from './p22';

const PER_SECOND = 50;
const DELIVERIES = 500;
const WARM_UP = 100;
const GOAL_RATIO = 3;

export const p23: Benchmark = {
  id: 'P23',
  what: 'send to receipt in the express lane at 50 deliveries/s, p95, against a floor relay',
  run: (bench) =>
    closing(async (closers) => [
      await measure(bench, await startCourses(bench, closers, { name: 'p23', lane: 'express' })),
    ]),
};

async function measure(bench: Bench, courses: Courses): Promise<Figure> {
  const { value, baseline } = courses;
  await warmUp(courses, (course) => course.runAt(PER_SECOND, WARM_UP));
  const [played] = await playRounds(
    [{ value: () => slowest(value), baseline: () => slowest(baseline) }],
    bench.rounds,
    (round) => {
      bench.progress(`P23 round ${round} of ${bench.rounds}`);
    },
  );
  if (played === undefined) throw new Error('P23 was not played');
  const { imbalances } = await closeExpressBooks(bench, courses);
  return {
    id: 'P23',
    what: 'send to receipt, express lane, p95',
    unit: 'ms',
    ...played,
    goal: { of: 'ratio', atMost: GOAL_RATIO },
    success: { value: value.answers.success, baseline: baseline.answers.success },
    imbalances,
    notes: [`an open loop of ${PER_SECOND} a second, ${DELIVERIES} a round`],
  };
}

/** The 95th percentile of one more run, in ms. */
async function slowest(course: Course): Promise<number> {
  const before = course.throughMs.length;
  await course.runAt(PER_SECOND, DELIVERIES);
  return percentile(course.throughMs.slice(before), 0.95);
}
