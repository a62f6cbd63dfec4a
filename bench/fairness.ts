/** A healthy tenant beside others, and a tenant like it that is alone: for P18 and P18/express. */
import type { Lane } from '../src/domain/lanes';
import type { Closers } from '../src/workers/closers';
import type { Bench } from './benchmark';
import { withinPatience } from './courses';
import { deploy, INGRESS_SECRET, type Deployment } from './deployment';
import { Answers, Books } from './ledger';
import { percentile } from './rounds';
import { Senders } from './senders';
import { startTarget, type Target } from './target';
import { newWebhooks } from './webhooks';

/** Deliveries a second. */
export interface Rates {
  readonly healthy: number;
  readonly flooding: number;
  readonly hanging: number;
}

/** A tenant's requests, and what became of them. */
interface Flow {
  readonly senders: Senders;
  readonly answers: Answers;
  readonly target: Target;
}

export interface Neighbours {
  readonly flows: Readonly<Record<'healthy' | 'flooding' | 'hanging' | 'alone', Flow>>;
  /** Of the three of them, and of the one that is alone. */
  readonly busy: Deployment;
  readonly calm: Deployment;
}

/** Starts both deployments, each with processes, database and queue of its own. */
export async function startNeighbours(
  bench: Bench,
  closers: Closers,
  { name, lane }: { readonly name: string; readonly lane: Lane },
): Promise<Neighbours> {
  const options = { environment: bench.environment, closers, lane };
  const flow = (deployment: Deployment, tenant: string, target: Target): Flow => {
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
  const busy = await deploy({ ...options, name, targetUrl: healthy.url, others });
  const calm = await deploy({ ...options, name: `${name}-calm`, targetUrl: alone.url });
  const flows = {
    healthy: flow(busy, 'bench', healthy),
    flooding: flow(busy, 'flooding', flooded),
    hanging: flow(busy, 'hanging', hung),
    alone: flow(calm, 'bench', alone),
  };
  return { flows, busy, calm };
}

/** The healthy tenant's p95 in ms, while the others have these rates; 0: there is none of that one. */
export async function besideOthers(
  bench: Bench,
  { flows, busy }: Neighbours,
  rates: Rates,
  seconds: number,
): Promise<number> {
  const [timesMs] = await Promise.all([
    timed(flows.healthy, rates.healthy, seconds),
    timed(flows.flooding, rates.flooding, seconds),
    sent(flows.hanging, rates.hanging, seconds),
  ]);
  const { healthy, flooding } = flows;
  await acknowledged(bench, busy, healthy.answers.accepted + flooding.answers.accepted);
  return percentile(timesMs, 0.95);
}

/** The same of the one that is alone. */
export async function byItself(
  bench: Bench,
  { flows, calm }: Neighbours,
  rate: number,
  seconds: number,
): Promise<number> {
  const timesMs = await timed(flows.alone, rate, seconds);
  await acknowledged(bench, calm, flows.alone.answers.accepted);
  return percentile(timesMs, 0.95);
}

/** Milliseconds of each from its request to the target's answer. */
async function timed(
  { senders, answers, target }: Flow,
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
function sent({ senders, answers }: Flow, rate: number, seconds: number): Promise<void> {
  return senders.sendAt(rate, newWebhooks(INGRESS_SECRET, rate * seconds), answers, () =>
    Promise.resolve(),
  );
}

async function acknowledged(bench: Bench, { database }: Deployment, count: number): Promise<void> {
  await withinPatience(bench, 'all but those that hang are acknowledged', async () => {
    return (await database.deliveries(`state = 'Acknowledged'`)) >= count;
  });
}

/** What was offered a second, for so long a round, and what of it the target that hangs was called for. */
export function offered({ flows }: Neighbours, rates: Rates, seconds: number): string {
  const { target, answers } = flows.hanging;
  return (
    `open loops of ${rates.healthy} a second (healthy), ${rates.flooding} (flooding) and ` +
    `${rates.hanging} (hanging), ${seconds} s a round; the hanging target was called ` +
    `${target.calls} times for ${answers.accepted} deliveries`
  );
}

/** Those that hang are under way: only that they are there can be held against what was accepted. */
export async function closeFairBooks({ flows, busy }: Neighbours): Promise<Books> {
  const { healthy, flooding, hanging, alone } = flows;
  const rows = await busy.database.counts(`
    select count(*) filter (where tenant_id = 'bench' and state = 'Acknowledged') as healthy,
      count(*) filter (where tenant_id = 'flooding' and state = 'Acknowledged') as flooding,
      count(*) filter (where tenant_id = 'hanging') as hanging,
      count(*) filter (where tenant_id = 'hanging' and state = 'Acknowledged') as odd
    from waybill.deliveries`);
  const books = new Books();
  for (const [name, { answers }] of Object.entries({ healthy, flooding, hanging })) {
    books.answers(`requests of the ${name} tenant`, answers);
    books.equal(`rows of the ${name} tenant`, rows[name], 'its accepted', answers.accepted);
  }
  books.equal('acknowledged by a target that hangs', rows['odd'], 'what it answered', 0);
  books.equal('calls alone', alone.target.calls, 'accepted', alone.answers.accepted);
  return books;
}
