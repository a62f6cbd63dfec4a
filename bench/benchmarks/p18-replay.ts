/**
 * P18/replay: from a signed request of a tenant to the call of its target, p95, while an operator's bulk
 * replay of another tenant's 5,000 failed deliveries runs at the default rate; beside it the same while
 * the replay is paused.
 */
import { request } from 'undici';
import { z } from 'zod';
import { developmentToken } from '../../src/cli/support/api-access';
import { tenantId } from '../../src/domain/ids';
import { parseConfig } from '../../src/schemas/config';
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { withinPatience } from '../courses';
import { deploy, INGRESS_SECRET, type Api, type Deployment } from '../deployment';
import { Answers, Books } from '../ledger';
import { percentile, playRounds } from '../rounds';
import { Senders } from '../senders';
import { startTarget, type Target } from '../target';
import { newWebhooks } from '../webhooks';

const FAILED = 5_000;
const SECONDS = 15;
const PER_SECOND = 5;
const WARM_UP_SECONDS = 3;
const GOAL_RATIO = 1.5;

export const p18Replay: Benchmark = {
  id: 'P18/replay',
  what: `a healthy tenant beside a bulk replay of ${FAILED} deliveries, p95, against it paused`,
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const [healthy, broken] = [await startTarget(closers), await startTarget(closers, 'broken')];
  const waybill = await deploy({
    ...{ environment: bench.environment, closers, name: 'p18-replay', parts: 'api,ingress' },
    targetUrl: healthy.url,
    others: [{ tenant: 'incident', targetUrl: broken.url }],
  });
  const live = sender(bench, closers, waybill.ingressUrl);
  const incident = sender(bench, closers, waybill.ingressOf('incident'));
  bench.progress(`P18/replay: ${FAILED} deliveries fail`);
  await incident.to.send(newWebhooks(INGRESS_SECRET, FAILED), incident.answers);
  await reached(bench, waybill, `state = 'Failed'`, FAILED);
  broken.repair();
  const job = await plan(bench, waybill.api);
  const timed = async (seconds: number): Promise<number> => {
    const timesMs: number[] = [];
    await live.to.sendAt(
      PER_SECOND,
      newWebhooks(INGRESS_SECRET, PER_SECOND * seconds),
      live.answers,
      async (sent) => {
        await healthy.answered(sent.deliveryId);
        timesMs.push(performance.now() - sent.sentAtMs);
      },
    );
    await reached(
      bench,
      waybill,
      `tenant_id = 'bench' and state = 'Acknowledged'`,
      live.answers.accepted,
    );
    return percentile(timesMs, 0.95);
  };
  const value = async (seconds: number): Promise<number> => {
    await job.go();
    const p95 = await timed(seconds);
    await job.pause();
    return p95;
  };
  for (const side of [value, timed]) await side(WARM_UP_SECONDS);
  const contest = { value: () => value(SECONDS), baseline: () => timed(SECONDS) };
  const [played] = await playRounds([contest], bench.rounds, (round) => {
    bench.progress(`P18/replay round ${round} of ${bench.rounds}`);
  });
  if (played === undefined) throw new Error('P18/replay was not played');
  const replayed = await job.replayed();
  const { imbalances } = await closeBooks(waybill, { live: live.answers, broken, replayed });
  return {
    ...{ id: 'P18/replay', what: 'receive to first dispatch beside a bulk replay, p95' },
    unit: 'ms',
    ...played,
    goal: { of: 'ratio', atMost: GOAL_RATIO },
    success: { value: live.answers.success, baseline: live.answers.success },
    imbalances,
    notes: [
      `an open loop of ${PER_SECOND} a second, ${SECONDS} s a round; ${replayed} of ${FAILED} ` +
        'were replayed meanwhile, each once',
    ],
  };
}

interface Sender {
  readonly to: Senders;
  readonly answers: Answers;
}

function sender({ signal }: Bench, closers: Closers, url: string): Sender {
  const to = new Senders(url, signal);
  closers.add(() => to.close());
  return { to, answers: new Answers() };
}

async function reached(
  bench: Bench,
  { database }: Deployment,
  condition: string,
  count: number,
): Promise<void> {
  // Five thousand take longer than one patience: it begins anew with each that comes.
  for (let before = -1; ;) {
    const now = await database.deliveries(condition);
    if (now >= count) return;
    if (now === before) throw new Error(`only ${now} of ${count} deliveries: ${condition}`);
    before = now;
    await withinPatience(bench, `more than ${now} deliveries: ${condition}`, async () => {
      return (await database.deliveries(condition)) > now;
    });
  }
}

interface Job {
  readonly go: () => Promise<void>;
  /** Resolves when what it had under way has ended. */
  readonly pause: () => Promise<void>;
  readonly replayed: () => Promise<number>;
}

const JobAnswer = z.object({
  jobId: z.string(),
  state: z.string(),
  planned: z.number(),
  replayed: z.number(),
  open: z.number(),
});
type JobAnswer = z.infer<typeof JobAnswer>;

async function plan(bench: Bench, api: Api): Promise<Job> {
  const token = await developmentToken(parseConfig(api.env), tenantId('incident'));
  const call = async (path: string, body?: object): Promise<JobAnswer> => {
    const answer = await request(`${api.url}/v1/replays${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return JobAnswer.parse(await answer.body.json());
  };
  const { jobId } = await call('', { reason: 'the target is repaired' });
  const path = `/${jobId}`;
  const until = (what: string, holds: (job: JobAnswer) => boolean): Promise<void> =>
    withinPatience(bench, what, async () => holds(await call(path)));
  await until(
    'the plan is made',
    ({ state, planned }) => state === 'planned' && planned === FAILED,
  );
  let move = 'run';
  return {
    go: async () => {
      await call(`${path}/${move}`, {});
      move = 'resume';
      const { replayed } = await call(path);
      await until('it replays', (job) => job.replayed > replayed);
    },
    pause: async () => {
      await call(`${path}/pause`, {});
      await until('what was replayed has ended', (job) => job.state === 'paused' && job.open === 0);
    },
    replayed: async () => (await call(path)).replayed,
  };
}

interface Run {
  readonly live: Answers;
  readonly broken: Target;
  readonly replayed: number;
}

async function closeBooks(
  { database }: Deployment,
  { live, broken, replayed }: Run,
): Promise<Books> {
  const books = new Books();
  books.answers('requests', live);
  const rows = await database.counts(`
    select count(*) filter (where tenant_id = 'bench' and state = 'Acknowledged') as live,
      count(*) filter (where tenant_id = 'incident' and state = 'Acknowledged') as replayed,
      count(*) filter (where tenant_id = 'incident' and state = 'Failed') as failed
    from waybill.deliveries`);
  books.equal('acknowledged', rows['live'], 'accepted', live.accepted);
  books.equal('replayed and acknowledged', rows['replayed'], 'replayed by the job', replayed);
  books.equal('still failed', rows['failed'], 'not replayed', FAILED - replayed);
  books.equal(
    'calls of the repaired target',
    broken.calls,
    'failed and replayed',
    FAILED + replayed,
  );
  return books;
}
