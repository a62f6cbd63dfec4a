/**
 * P22, the express lane: deliveries a second from the request to the acknowledged delivery, by `waybill api`
 * and `waybill worker`; beside them the floor relay, an HTTP server that inserts the body and makes the same
 * signed call, and does nothing else.
 */
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { startCourses, warmUp, type Course, type Courses } from '../courses';
import { Books, takenPerSecond } from '../ledger';
import { percentile, playRounds } from '../rounds';
import { SENDERS } from '../senders';
import { BODY_BYTES } from '../webhooks';

const DELIVERIES = 4_096;
const WARM_UP = 1_024;
const GOAL_RATIO = 0.45;

export const p22: Benchmark = {
  id: 'P22',
  what: 'express deliveries, accept to acknowledged, against a floor relay',
  run: (bench) =>
    closing(async (closers) => [
      await measure(bench, await startCourses(bench, closers, { name: 'p22', lane: 'express' })),
    ]),
};

async function measure(bench: Bench, courses: Courses): Promise<Figure> {
  const { value, baseline } = courses;
  await warmUp(courses, (course) => course.run(WARM_UP));
  const [played] = await playRounds(
    [{ value: () => rate(value), baseline: () => rate(baseline) }],
    bench.rounds,
    (round) => {
      bench.progress(`P22 round ${round} of ${bench.rounds}`);
    },
  );
  if (played === undefined) throw new Error('P22 was not played');
  const { imbalances } = await closeExpressBooks(bench, courses);
  return {
    id: 'P22',
    what: 'express deliveries, accept to acknowledged',
    unit: 'deliveries/s',
    ...played,
    goal: { of: 'ratio', atLeast: GOAL_RATIO },
    success: { value: value.answers.success, baseline: baseline.answers.success },
    imbalances,
    notes: [
      `${SENDERS} senders in a closed loop, ${DELIVERIES} deliveries of ${BODY_BYTES} bytes a ` +
        `round; request to the target's answer p95 ${p95(value)} ms, baseline ${p95(baseline)} ms`,
    ],
  };
}

function rate(course: Course): Promise<number> {
  return takenPerSecond(course.answers, () => course.run(DELIVERIES));
}

function p95({ throughMs }: Course): string {
  return percentile(throughMs, 0.95).toFixed(1);
}

/** Each delivery was attempted once and acknowledged, without a workflow; the relay called once for each. */
export async function closeExpressBooks(
  bench: Bench,
  { value, baseline }: Courses,
): Promise<Books> {
  const rows = await value.database.counts(`
    select count(*) as all, count(*) filter (where state = 'Acknowledged') as acknowledged,
      count(*) filter (where driver = 'loop') as alone,
      (select count(*) from waybill.delivery_attempts where outcome = 'acknowledged') as attempts,
      (select count(*) from waybill.receipts) as receipts
    from waybill.deliveries`);
  const bare = await baseline.database.counts('select count(*) as all from floor_deliveries');
  const workflows = await bench.environment.temporal.count(value.taskQueue, 'Completed');
  const { accepted } = value.answers;
  const books = new Books();
  books.answers('requests', value.answers);
  books.answers('requests of the baseline', baseline.answers);
  books.equal('rows', rows['all'], 'accepted', accepted);
  books.equal('acknowledged', rows['acknowledged'], 'accepted', accepted);
  books.equal('without a workflow', rows['alone'], 'accepted', accepted);
  books.equal('closed workflows', workflows, 'of those that need none', 0);
  books.equal('acknowledged attempts', rows['attempts'], 'accepted', accepted);
  books.equal('receipts', rows['receipts'], 'accepted', accepted);
  books.equal('calls at the target', value.target.calls, 'accepted', accepted);
  books.equal('rows of the baseline', bare['all'], 'its accepted', baseline.answers.accepted);
  books.equal('calls at its target', baseline.target.calls, 'accepted', baseline.answers.accepted);
  return books;
}
