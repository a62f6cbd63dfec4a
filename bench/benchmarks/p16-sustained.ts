/**
 * P16/50: 50 deliveries a second for five minutes, from a signed request to the first call of its target.
 * No round and no baseline: it tells what this machine does at a rate that it may not be able to keep up
 * with, minute by minute, and what Waybill's own metric says of it.
 */
import { request } from 'undici';
import type { Closers } from '../../src/workers/closers';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { withinPatience } from '../courses';
import { deploy, INGRESS_SECRET, type Deployment } from '../deployment';
import { Answers, Books } from '../ledger';
import { percentile, spreadOf } from '../rounds';
import { Senders } from '../senders';
import { startTarget, type Target } from '../target';
import { newWebhooks } from '../webhooks';

const PER_SECOND = 50;
const MINUTES = 5;
const WARM_UP = 100;
const GOAL_MS = 2_000;
/** A machine that cannot keep up is waited for as long again. */
const PATIENCE_MS = MINUTES * 60_000;
const ACKNOWLEDGED = `state = 'Acknowledged'`;
const METRIC = 'connectsoft_factory_integration_delivery_latency';

export const p16Sustained: Benchmark = {
  id: 'P16/50',
  what: `receive to first dispatch at ${PER_SECOND} deliveries/s for ${MINUTES} minutes, p95`,
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const target = await startTarget(closers);
  const options = { environment: bench.environment, closers, name: 'p16-50' };
  const waybill = await deploy({ ...options, targetUrl: target.url });
  const senders = new Senders(waybill.ingressUrl, bench.signal);
  closers.add(() => senders.close());
  const answers = new Answers();
  await senders.sendAt(
    PER_SECOND,
    newWebhooks(INGRESS_SECRET, WARM_UP),
    answers,
    ({ deliveryId }) => target.answered(deliveryId),
  );
  const timesMs: number[] = [];
  const started = performance.now();
  const load = newWebhooks(INGRESS_SECRET, PER_SECOND * 60 * MINUTES);
  const ticker = setInterval(() => {
    bench.progress(`P16/50: ${timesMs.length} of ${load.length} dispatched`);
  }, 60_000);
  closers.add(() => {
    clearInterval(ticker);
  });
  await senders.sendAt(PER_SECOND, load, answers, async ({ deliveryId, sentAtMs }) => {
    await target.answered(deliveryId, PATIENCE_MS);
    timesMs.push(performance.now() - sentAtMs);
  });
  const dispatchedS = (performance.now() - started) / 1000;
  await withinPatience(bench, 'all are acknowledged', async () => {
    return (await waybill.database.deliveries(ACKNOWLEDGED)) >= answers.accepted;
  });
  const p95 = percentile(timesMs, 0.95);
  return {
    ...{ id: 'P16/50', what: 'receive to first dispatch under sustained load, p95', unit: 'ms' },
    value: spreadOf([p95]),
    ...{ baseline: null, ratios: null },
    goal: { of: 'value', atMost: GOAL_MS },
    success: { value: answers.success, baseline: null },
    imbalances: (await closeBooks(waybill, target, answers)).imbalances,
    notes: [
      `${load.length} requests in an open loop; all were dispatched after ${dispatchedS.toFixed(0)} s, ` +
        `${(load.length / dispatchedS).toFixed(1)} a second; p50 ${percentile(timesMs, 0.5).toFixed(0)}, ` +
        `p95 ${p95.toFixed(0)}, at most ${percentile(timesMs, 1).toFixed(0)} ms; ` +
        `answers p95 ${percentile(answers.latenciesMs, 0.95).toFixed(0)} ms`,
      `by ${METRIC}: ${await metricSays(waybill)}`,
    ],
  };
}

/** The share of deliveries within each bound of the worker's histogram, up to the one that holds all. */
async function metricSays({ workerUrl }: Deployment): Promise<string> {
  const { body } = await request(`${workerUrl}/metrics`);
  const text = await body.text();
  const buckets = [...text.matchAll(BUCKET)].map(([, upTo, count]) => ({
    upTo: upTo ?? '',
    count: Number(count),
  }));
  const all = buckets.at(-1)?.count ?? 0;
  const told = buckets.filter(({ count }, at) => count > 0 && buckets[at - 1]?.count !== all);
  return told
    .map(({ upTo, count }) => `${((100 * count) / all).toFixed(1)} % within ${upTo} s`)
    .join(', ');
}

const BUCKET = new RegExp(`^${METRIC}_bucket\\{.*le="([^"]+)".*\\} ([0-9]+)`, 'gm');

async function closeBooks(waybill: Deployment, target: Target, answers: Answers): Promise<Books> {
  const rows = await waybill.database.counts(`
    select count(*) as all, (select count(*) from waybill.delivery_attempts) as attempts
      from waybill.deliveries`);
  const books = new Books();
  books.answers('requests', answers);
  books.equal('rows', rows['all'], 'accepted', answers.accepted);
  books.equal(
    'acknowledged',
    await waybill.database.deliveries(ACKNOWLEDGED),
    'accepted',
    answers.accepted,
  );
  books.equal('attempts', rows['attempts'], 'calls at the target', target.calls);
  return books;
}
