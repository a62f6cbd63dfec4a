/**
 * P15, the durable lane: deliveries a second from the request to the acknowledged delivery, by
 * `waybill api` and `waybill worker`; beside them an HTTP server that inserts the body and starts a
 * one-activity workflow that makes the same signed call, with the same worker settings.
 */
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { startCourses, warmUp, type Course, type Courses } from '../courses';
import { Books, takenPerSecond } from '../ledger';
import { percentile, playRounds } from '../rounds';
import { SENDERS } from '../senders';
import { BODY_BYTES } from '../webhooks';

const DELIVERIES = 256;
const WARM_UP = 64;
const GOAL_RATIO = 0.9;

export const p15: Benchmark = {
  id: 'P15',
  what: 'durable deliveries, accept to acknowledged, against insert and one-activity workflow',
  run: (bench) =>
    closing(async (closers) => [
      await measure(bench, await startCourses(bench, closers, { name: 'p15' })),
    ]),
};

async function measure(bench: Bench, courses: Courses): Promise<Figure> {
  const { value, baseline } = courses;
  await warmUp(courses, (course) => course.run(WARM_UP));
  const [played] = await playRounds(
    [{ value: () => rate(value), baseline: () => rate(baseline) }],
    bench.rounds,
    (round) => {
      bench.progress(`P15 round ${round} of ${bench.rounds}`);
    },
  );
  if (played === undefined) throw new Error('P15 was not played');
  const { imbalances } = await closeBooks(bench, courses);
  return {
    id: 'P15',
    what: 'durable deliveries, accept to acknowledged',
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

async function closeBooks(bench: Bench, { value, baseline }: Courses): Promise<Books> {
  const rows = await value.database.counts(`
    select count(*) as all,
      count(*) filter (where state = 'Acknowledged') as acknowledged,
      count(*) filter (where state = 'Failed') as failed,
      count(*) filter (where state not in ('Acknowledged', 'Failed')) as pending,
      (select count(*) from waybill.delivery_attempts where outcome = 'acknowledged') as attempts,
      (select count(*) from waybill.delivery_attempts) as all_attempts
    from waybill.deliveries`);
  const { acknowledged = 0, failed = 0, pending = 0 } = rows;
  const bare = await baseline.database.counts('select count(*) as all from floor_deliveries');
  const completed = await bench.environment.temporal.count(baseline.taskQueue, 'Completed');
  const books = new Books();
  books.answers('requests', value.answers);
  books.answers('requests of the baseline', baseline.answers);
  const { accepted } = value.answers;
  books.equal('failed and pending', failed + pending, 'of those that must all succeed', 0);
  books.equal('rows', rows['all'], 'accepted', accepted);
  books.equal('acknowledged attempts', rows['attempts'], 'acknowledged', acknowledged);
  books.equal('deliveries at the target', value.target.deliveries, 'acknowledged', acknowledged);
  books.equal('attempts', rows['all_attempts'], 'calls at the target', value.target.calls);
  books.equal('rows of the baseline', bare['all'], 'its accepted', baseline.answers.accepted);
  books.equal('its closed workflows', completed, 'its accepted', baseline.answers.accepted);
  books.equal('calls at its target', baseline.target.calls, 'accepted', baseline.answers.accepted);
  return books;
}

function p95({ throughMs }: Course): string {
  return percentile(throughMs, 0.95).toFixed(0);
}
