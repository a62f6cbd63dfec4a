/** Deliveries a second through a lane from end to end, beside its floor: for P15 and P22. */
import type { Bench, Figure } from './benchmark';
import { warmUp, type Course, type Courses } from './courses';
import { takenPerSecond, type Books } from './ledger';
import { percentile, playRounds } from './rounds';
import { SENDERS } from './senders';
import { BODY_BYTES } from './webhooks';

export interface Throughput {
  readonly id: string;
  readonly what: string;
  /** A round has so many. */
  readonly deliveries: number;
  readonly warmUp: number;
  readonly goalRatio: number;
  readonly closeBooks: (bench: Bench, courses: Courses) => Promise<Books>;
}

/** @throws Error when a side does not get through */
export async function measureThroughput(
  bench: Bench,
  courses: Courses,
  of: Throughput,
): Promise<Figure> {
  const { value, baseline } = courses;
  const rate = (course: Course) => takenPerSecond(course.answers, () => course.run(of.deliveries));
  await warmUp(courses, (course) => course.run(of.warmUp));
  const [played] = await playRounds(
    [{ value: () => rate(value), baseline: () => rate(baseline) }],
    bench.rounds,
    (round) => {
      bench.progress(`${of.id} round ${round} of ${bench.rounds}`);
    },
  );
  if (played === undefined) throw new Error(`${of.id} was not played`);
  const { imbalances } = await of.closeBooks(bench, courses);
  return {
    id: of.id,
    what: of.what,
    unit: 'deliveries/s',
    ...played,
    goal: { of: 'ratio', atLeast: of.goalRatio },
    success: { value: value.answers.success, baseline: baseline.answers.success },
    imbalances,
    notes: [
      `${SENDERS} senders in a closed loop, ${of.deliveries} deliveries of ${BODY_BYTES} bytes a ` +
        `round; request to the target's answer p95 ${p95(value)} ms, baseline ${p95(baseline)} ms`,
    ],
  };
}

function p95({ throughMs }: Course): string {
  return percentile(throughMs, 0.95).toFixed(1);
}
