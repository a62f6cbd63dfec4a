/**
 * P18, fairness: from a signed request of a healthy tenant to the call of its target, p95, while the
 * target of another tenant hangs and a third tenant floods; beside it the same tenant alone, in a
 * deployment of its own. The machine is not saturated: all rates together are half of what it can do.
 *
 * P18/load takes it apart: the same tenant beside as many deliveries of another one whose target is well.
 * What P18 has beyond that is what hanging and flooding cost; the rest is what load costs.
 */
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { withinPatience } from '../courses';
import { deploy, INGRESS_SECRET, type Deployment } from '../deployment';
import { Answers, Books } from '../ledger';
import { percentile, playRounds } from '../rounds';
import { Senders } from '../senders';
import { startTarget, type Target } from '../target';
import { newWebhooks } from '../webhooks';

const SECONDS = 15;
/** Deliveries a second. */
const RATES = { healthy: 5, flooding: 10, hanging: 4 } as const;
const WARM_UP_SECONDS = 3;
const GOAL_RATIO = 1.5;

export const p18: Benchmark = {
  id: 'P18',
  what: 'a healthy tenant while one target hangs and one tenant floods, p95, against it alone',
  run: (bench) => closing((closers) => measure(bench, closers)),
};

/** A tenant's requests, and what became of them. */
interface Lane {
  readonly senders: Senders;
  readonly answers: Answers;
  readonly target: Target;
}

async function measure(bench: Bench, closers: Closers): Promise<Figure[]> {
  const options = { environment: bench.environment, closers };
  const lane = (deployment: Deployment, tenant: string, target: Target): Lane => {
    const senders = new Senders(deployment.ingressOf(tenant), bench.signal);
    closers.add(() => senders.close());
    return { senders, answers: new Answers(), target };
  };
  const [healthy, flooded, alone] = [
    await startTarget(closers),
    await startTarget(closers),
    await startTarget(closers),
  ];
  const hung = await startTarget(closers, 'hanging');
  const others = [
    { tenant: 'flooding', targetUrl: flooded.url },
    { tenant: 'hanging', targetUrl: hung.url },
  ];
  const busy = await deploy({ ...options, name: 'p18', targetUrl: healthy.url, others });
  const calm = await deploy({ ...options, name: 'p18-calm', targetUrl: alone.url });
  const lanes = {
    healthy: lane(busy, 'bench', healthy),
    flooding: lane(busy, 'flooding', flooded),
    hanging: lane(busy, 'hanging', hung),
    alone: lane(calm, 'bench', alone),
  };
  const besideOthers = async (seconds: number, others: () => Promise<unknown>): Promise<number> => {
    const [timesMs] = await Promise.all([timed(lanes.healthy, RATES.healthy, seconds), others()]);
    await acknowledged(
      bench,
      busy,
      lanes.healthy.answers.accepted + lanes.flooding.answers.accepted,
    );
    return percentile(timesMs, 0.95);
  };
  const value = (seconds: number): Promise<number> =>
    besideOthers(seconds, () =>
      Promise.all([
        timed(lanes.flooding, RATES.flooding, seconds),
        sent(lanes.hanging, RATES.hanging, seconds),
      ]),
    );
  const loaded = (seconds: number): Promise<number> =>
    besideOthers(seconds, () => timed(lanes.flooding, RATES.flooding + RATES.hanging, seconds));
  const baseline = async (seconds: number): Promise<number> => {
    const timesMs = await timed(lanes.alone, RATES.healthy, seconds);
    await acknowledged(bench, calm, lanes.alone.answers.accepted);
    return percentile(timesMs, 0.95);
  };
  for (const side of [value, baseline]) await side(WARM_UP_SECONDS);
  const contests = [value, loaded].map((side) => ({
    value: () => side(SECONDS),
    baseline: () => baseline(SECONDS),
  }));
  const [fair, load] = await playRounds(contests, bench.rounds, (round) => {
    bench.progress(`P18 round ${round} of ${bench.rounds}`);
  });
  if (fair === undefined || load === undefined) throw new Error('P18 was not played');
  const { imbalances } = await closeBooks(busy, lanes);
  const common = {
    unit: 'ms',
    success: { value: lanes.healthy.answers.success, baseline: lanes.alone.answers.success },
    imbalances,
  };
  return [
    {
      ...{ id: 'P18', what: 'receive to first dispatch of a healthy tenant, p95' },
      ...common,
      ...fair,
      goal: { of: 'ratio', atMost: GOAL_RATIO },
      notes: [
        `open loops of ${RATES.healthy} a second (healthy), ${RATES.flooding} (flooding) and ` +
          `${RATES.hanging} (hanging), ${SECONDS} s a round; the hanging target was called ` +
          `${hung.calls} times for ${lanes.hanging.answers.accepted} deliveries`,
      ],
    },
    {
      ...{ id: 'P18/load', what: 'the same beside as many deliveries to a target that is well' },
      ...common,
      ...load,
      goal: { of: 'books' },
      notes: [],
    },
  ];
}

/** Milliseconds of each from its request to the target's answer. */
async function timed(
  { senders, answers, target }: Lane,
  rate: number,
  seconds: number,
): Promise<number[]> {
  const timesMs: number[] = [];
  await senders.sendAt(
    rate,
    newWebhooks(INGRESS_SECRET, rate * seconds),
    answers,
    async ({ deliveryId, sentAtMs }) => {
      await target.answered(deliveryId);
      timesMs.push(performance.now() - sentAtMs);
    },
  );
  return timesMs;
}

/** Sends without waiting for what becomes of them. */
function sent({ senders, answers }: Lane, rate: number, seconds: number): Promise<void> {
  return senders.sendAt(rate, newWebhooks(INGRESS_SECRET, rate * seconds), answers, () =>
    Promise.resolve(),
  );
}

async function acknowledged(bench: Bench, { database }: Deployment, count: number): Promise<void> {
  await withinPatience(bench, 'all but those that hang are acknowledged', async () => {
    return (await database.deliveries(`state = 'Acknowledged'`)) >= count;
  });
}

/** Those that hang are under way: only that they are there can be held against what was accepted. */
async function closeBooks(
  { database }: Deployment,
  {
    healthy,
    flooding,
    hanging,
    alone,
  }: Readonly<Record<'healthy' | 'flooding' | 'hanging' | 'alone', Lane>>,
): Promise<Books> {
  const rows = await database.counts(`
    select count(*) filter (where tenant_id = 'bench' and state = 'Acknowledged') as healthy,
      count(*) filter (where tenant_id = 'flooding' and state = 'Acknowledged') as flooding,
      count(*) filter (where tenant_id = 'hanging') as hanging,
      count(*) filter (where tenant_id = 'hanging' and state = 'Acknowledged') as odd
    from waybill.deliveries`);
  const books = new Books();
  const lanes = { healthy, flooding, hanging };
  for (const [name, { answers }] of Object.entries(lanes)) {
    books.answers(`requests of the ${name} tenant`, answers);
    books.equal(`rows of the ${name} tenant`, rows[name], 'its accepted', answers.accepted);
  }
  books.equal('acknowledged by a target that hangs', rows['odd'], 'what it answered', 0);
  books.equal('calls alone', alone.target.calls, 'accepted', alone.answers.accepted);
  return books;
}
