/**
 * P17, receiving: from a signed request to its 2xx, by a real `waybill api` on its own, at three
 * shares of duplicates; beside it a server of the same kind that inserts the same body and no more.
 *
 * Waybill runs as it is deployed: with its log, and with the Temporal server there, so that every
 * accepted delivery is started as a workflow. No worker is there to take them: dispatching is P15.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { deploy, INGRESS_SECRET, type Deployment } from '../deployment';
import { startFloors, type RunningFloor } from '../floor';
import { Answers, Books, takenPerSecond } from '../ledger';
import { percentile, playRounds, type Contest, type Played } from '../rounds';
import { SENDERS, Senders } from '../senders';
import { BODY_BYTES, WebhookStream, type SignedWebhook } from '../webhooks';

const REQUESTS = 2_000;
const GOAL_RATIO = 0.85;
const QUIET_POLL_MS = 250;
const QUIET_POLLS = 80;

const SHARES = [
  { id: 'P17', duplicates: 0 },
  { id: 'P17/10', duplicates: 0.1 },
  { id: 'P17/90', duplicates: 0.9 },
] as const;

export const p17: Benchmark = {
  id: 'P17',
  what: 'receiving at 0, 10 and 90 % duplicates, against a bare insert from the same server',
  run: (bench) => closing((closers) => measure(bench, closers)),
};

/** One share of duplicates: its requests, and the answers of both sides. */
interface Lane {
  readonly id: string;
  readonly duplicates: number;
  readonly value: Sent;
  readonly baseline: Sent;
}

interface Sent {
  readonly to: Senders;
  readonly stream: WebhookStream;
  readonly warmUp: Answers;
  readonly answers: Answers;
}

interface Course {
  readonly waybill: Deployment;
  readonly floor: RunningFloor;
  /** Ids of all requests that were sent to Waybill. */
  readonly ids: Set<string>;
  readonly quiet: () => Promise<void>;
}

async function measure(bench: Bench, closers: Closers): Promise<Figure[]> {
  const { environment, signal } = bench;
  const waybill = await deploy({ environment, closers, name: 'p17' });
  const floor = await startFloors({ environment, closers, name: 'p17' });
  const course: Course = {
    waybill,
    floor,
    ids: new Set(),
    quiet: () => startsAreOver(bench, waybill.taskQueue),
  };
  const toWaybill = new Senders(waybill.ingressUrl, signal);
  const toFloor = new Senders(floor.acceptUrl, signal);
  closers.add(() => Promise.all([toWaybill.close(), toFloor.close()]));
  const lanes = SHARES.map(({ id, duplicates }): Lane => ({
    ...{ id, duplicates },
    value: sent(toWaybill, duplicates),
    baseline: sent(toFloor, duplicates),
  }));
  for (const lane of lanes) await warmUp(course, lane);
  const played = await playRounds(
    lanes.map((lane) => contest(course, lane)),
    bench.rounds,
    (round) => {
      bench.progress(`P17 round ${round} of ${bench.rounds}`);
    },
  );
  const books = await closeBooks(course, lanes);
  const started = await environment.temporal.count(waybill.taskQueue, 'Running');
  bench.progress(`P17: ${started} of ${course.ids.size} accepted deliveries have a workflow`);
  return lanes.map((lane, at) => figure(lane, played[at], books.imbalances));
}

function sent(to: Senders, duplicates: number): Sent {
  const stream = new WebhookStream(INGRESS_SECRET, duplicates);
  return { to, stream, warmUp: new Answers(), answers: new Answers() };
}

async function warmUp(course: Course, { value, baseline }: Lane): Promise<void> {
  for (const side of [value, baseline]) {
    const webhooks = [...side.stream.seed(), ...side.stream.take(REQUESTS / 4)];
    if (side === value) remember(course, webhooks);
    await side.to.send(webhooks, side.warmUp);
  }
  await course.quiet();
}

/** Both sides take as many requests; they are made and signed before the clock runs. */
function contest(course: Course, { value, baseline }: Lane): Contest {
  return {
    value: async () => {
      const webhooks = value.stream.take(REQUESTS);
      remember(course, webhooks);
      const takenPerSecond = await rate(value, webhooks);
      await course.quiet();
      return takenPerSecond;
    },
    baseline: () => rate(baseline, baseline.stream.take(REQUESTS)),
  };
}

function rate({ to, answers }: Sent, webhooks: readonly SignedWebhook[]): Promise<number> {
  return takenPerSecond(answers, () => to.send(webhooks, answers));
}

function remember(course: Course, webhooks: readonly SignedWebhook[]): void {
  for (const { headers } of webhooks) course.ids.add(headers['x-github-delivery'] ?? '');
}

/** The starts that are still under way would otherwise fall on the next measurement. */
async function startsAreOver({ environment }: Bench, taskQueue: string): Promise<void> {
  let before = -1;
  for (let poll = 0; poll < QUIET_POLLS; poll += 1) {
    const now = await environment.temporal.count(taskQueue, 'Running');
    if (now === before) return;
    before = now;
    await delay(QUIET_POLL_MS);
  }
}

async function closeBooks(course: Course, lanes: readonly Lane[]): Promise<Books> {
  const rows = await course.waybill.database.counts(`
    select count(*) filter (where state = 'Received') as received,
      count(*) filter (where state = 'Deduplicated') as deduplicated,
      count(*) filter (where state not in ('Received', 'Deduplicated', 'Rejected')) as others,
      (select count(*) from waybill.dedup_keys) as keys,
      (select count(*) from waybill.artifacts) as payloads
    from waybill.deliveries`);
  const bare = await course.floor.database.counts('select count(*) as all from floor_deliveries');
  const value = lanes.flatMap((lane) => [lane.value.warmUp, lane.value.answers]);
  const baseline = lanes.flatMap((lane) => [lane.baseline.warmUp, lane.baseline.answers]);
  const accepted = sum(value.map((answers) => answers.accepted));
  const duplicates = sum(value.map((answers) => answers.duplicates));
  const books = new Books();
  for (const answers of value) books.answers('requests', answers);
  for (const answers of baseline) books.answers('requests of the baseline', answers);
  books.equal('accepted', accepted, 'different ids sent', course.ids.size);
  books.equal('rows Received', rows['received'], 'accepted', accepted);
  books.equal('rows Deduplicated', rows['deduplicated'], 'duplicates', duplicates);
  books.equal('rows in other states', rows['others'], 'expected', 0);
  books.equal('dedup keys', rows['keys'], 'accepted', accepted);
  books.equal('payloads', rows['payloads'], 'accepted', accepted);
  const bareAccepted = sum(baseline.map((answers) => answers.accepted));
  books.equal('rows of the baseline', bare['all'], 'its accepted', bareAccepted);
  return books;
}

function figure(lane: Lane, played: Played | undefined, imbalances: readonly string[]): Figure {
  if (played === undefined) throw new Error(`${lane.id} was not played`);
  const p95 = ({ answers }: Sent) => percentile(answers.latenciesMs, 0.95).toFixed(1);
  return {
    id: lane.id,
    what: `receiving, ${lane.duplicates * 100} % duplicates`,
    unit: 'requests/s',
    ...played,
    goal: { of: 'ratio', atLeast: GOAL_RATIO },
    success: { value: lane.value.answers.success, baseline: lane.baseline.answers.success },
    imbalances,
    notes: [
      `${SENDERS} senders in a closed loop, ${REQUESTS} requests of ${BODY_BYTES} bytes a ` +
        `round; answers p95 ${p95(lane.value)} ms, baseline ${p95(lane.baseline)} ms`,
    ],
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
