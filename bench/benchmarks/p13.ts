/**
 * P13, acting: actions a second from their start over the API to their end, by `waybill api`,
 * `waybill worker` and a real host that does nothing; beside them a bare workflow of one activity that
 * does nothing, with the same worker settings.
 */
import { startActionCourses, type ActionCourse, type ActionCourses } from '../action-courses';
import { closing, type Bench, type Benchmark, type Costs, type Figure } from '../benchmark';
import { Books, takenPerSecond } from '../ledger';
import { percentile, playRounds } from '../rounds';
import { SENDERS } from '../senders';
import { BODY_BYTES } from '../webhooks';

const ACTIONS = 256;
const WARM_UP = 64;
const GOAL_RATIO = 0.9;

export const p13: Benchmark = {
  id: 'P13',
  what: 'actions, start to closed, null host, against a bare workflow of one no-op activity',
  run: (bench) =>
    closing(async (closers) => [
      await measure(bench, await startActionCourses(bench, closers, 'p13')),
    ]),
};

async function measure(bench: Bench, courses: ActionCourses): Promise<Figure> {
  const { value, baseline } = courses;
  for (const course of [value, baseline]) await course.run(WARM_UP);
  for (const { cpu } of [value, baseline]) cpu.forget();
  const [played] = await playRounds(
    [{ value: () => rate(value), baseline: () => rate(baseline) }],
    bench.rounds,
    (round) => {
      bench.progress(`P13 round ${round} of ${bench.rounds}`);
    },
  );
  if (played === undefined) throw new Error('P13 was not played');
  const costs = {
    value: costsOf(bench, value, await closedInMs(courses)),
    baseline: costsOf(bench, baseline, await workflowsInMs(bench, baseline)),
  };
  return {
    id: 'P13',
    what: 'actions, start to closed, null host',
    unit: 'actions/s',
    ...played,
    goal: { of: 'ratio', atLeast: GOAL_RATIO },
    success: { value: value.answers.success, baseline: baseline.answers.success },
    imbalances: (await closeBooks(bench, courses)).imbalances,
    costs,
    notes: [
      `${SENDERS} senders in a closed loop, ${ACTIONS} actions of ${BODY_BYTES} bytes a round; the ` +
        'host keeps its records in SQLite, every commit flushed; two quotas are counted',
    ],
  };
}

function rate(course: ActionCourse): Promise<number> {
  return takenPerSecond(course.answers, () => course.run(ACTIONS));
}

function costsOf({ rounds }: Bench, { cpu }: ActionCourse, latencyMs: Costs['latencyMs']): Costs {
  const each = [...cpu.used].map(([name, ms]) => [name, ms / (rounds * ACTIONS)] as const);
  return { latencyMs, cpuMs: new Map(each) };
}

/** By the rows, without the warm-up. */
async function closedInMs({ database }: ActionCourses): Promise<Costs['latencyMs']> {
  const at = (share: number): string =>
    `percentile_cont(${share}) within group (order by extract(epoch from closed_at - created_at))`;
  const { p50 = 0, p95 = 0 } = await database.counts(`
    select 1000 * ${at(0.5)} as p50, 1000 * ${at(0.95)} as p95
    from waybill.actions where action_id not like '1-%'`);
  return { p50, p95 };
}

/** By the server's own times, without the warm-up. */
async function workflowsInMs(
  { environment }: Bench,
  { taskQueue }: ActionCourse,
): Promise<Costs['latencyMs']> {
  const tookMs: number[] = [];
  for await (const workflow of environment.temporal.completed(taskQueue)) {
    const { workflowId, startTime, closeTime } = workflow;
    if (workflowId.startsWith('1-') || closeTime === undefined) continue;
    tookMs.push(closeTime.getTime() - startTime.getTime());
  }
  return { p50: percentile(tookMs, 0.5), p95: percentile(tookMs, 0.95) };
}

async function closeBooks(bench: Bench, courses: ActionCourses): Promise<Books> {
  const { value, baseline, database, host } = courses;
  const rows = await database.counts(ROWS);
  const { completed = 0, attempts = 0, settled = 0, open = 0, owed = 0, busy = 0 } = rows;
  const { temporal } = bench.environment;
  const workflows = await temporal.count(value.taskQueue, 'Completed');
  const floors = await temporal.count(baseline.taskQueue, 'Completed');
  const books = new Books();
  books.answers('starts', value.answers);
  books.answers('starts of the baseline', baseline.answers);
  const started = value.answers.accepted;
  books.equal('rows', rows['all'], 'started', started);
  books.equal('closed', rows['closed'], 'started', started);
  books.equal('completed', completed, 'closed', rows['closed'] ?? 0);
  books.equal('reserved attempts', attempts, 'settled and open', settled + open);
  books.equal('completed attempts', rows['acted'], 'completed', completed);
  books.equal('held by counters', rows['held'], 'owed by open attempts', owed);
  books.equal('assigned to the replica', busy, 'open attempts', open);
  books.equal('open attempts', open, 'expected', 0);
  books.equal('done by the host', host.done.calls, 'completed', completed);
  books.equal('different ones', host.done.different, 'completed', completed);
  books.equal('closed workflows', workflows, 'started', started);
  books.equal('finished in the store of the host', await host.finished(), 'completed', completed);
  books.equal('workflows of the baseline', floors, 'its started', baseline.answers.accepted);
  books.equal('its activities', baseline.done.calls, 'its started', baseline.answers.accepted);
  return books;
}

const ROWS = `
  select count(*) as all,
    count(*) filter (where closed_at is not null) as closed,
    count(*) filter (where state = 'completed') as completed,
    (select count(*) from waybill.route_attempts) as attempts,
    (select count(*) from waybill.route_attempts where settled_at is not null) as settled,
    (select count(*) from waybill.route_attempts where settled_at is null) as open,
    (select count(*) from waybill.route_attempts where settlement = 'completed') as acted,
    (select coalesce(sum(held), 0) from waybill.quota_counters) as held,
    (select coalesce(sum(jsonb_array_length(counters)), 0) from waybill.route_attempts
      where settled_at is null) as owed,
    (select coalesce(sum(active_assignments), 0) from waybill.replicas) as busy
  from waybill.actions`;
