/**
 * P16, the first dispatch: from a signed request to the first call of its target, at 20 deliveries a
 * second, by `waybill api` and `waybill worker`; beside it a bare workflow of one ordinary activity,
 * started at the same rate, until that activity runs.
 */
import { randomUUID } from 'node:crypto';
import type { Closers } from '../../src/workers/closers';
import { startNoOpFloor } from '../action-deployment';
import { closing, type Bench, type Benchmark, type Figure } from '../benchmark';
import { withinPatience } from '../courses';
import { deploy, INGRESS_SECRET, type Deployment } from '../deployment';
import type { nothing } from '../floors/no-op-workflow';
import { Answers, Books } from '../ledger';
import { percentile, playRounds } from '../rounds';
import { atRate, Senders } from '../senders';
import { startTarget, type Target } from '../target';
import { newWebhooks } from '../webhooks';

const PER_SECOND = 20;
const DELIVERIES = 200;
const WARM_UP = 40;
const GOAL_RATIO = 1.5;

export const p16: Benchmark = {
  id: 'P16',
  what: 'receive to first dispatch at 20 deliveries/s, p95, against a bare one-activity workflow',
  run: (bench) => closing(async (closers) => [await measure(bench, closers)]),
};

async function measure(bench: Bench, closers: Closers): Promise<Figure> {
  const { environment } = bench;
  const target = await startTarget(closers);
  const options = { environment, closers, name: 'p16' };
  const waybill = await deploy({ ...options, targetUrl: target.url });
  const floor = await startNoOpFloor(options);
  const senders = new Senders(waybill.ingressUrl, bench.signal);
  closers.add(() => senders.close());
  const [answers, started] = [new Answers(), new Answers()];
  const value = async (count: number): Promise<number> => {
    const timesMs: number[] = [];
    const webhooks = newWebhooks(INGRESS_SECRET, count);
    await senders.sendAt(PER_SECOND, webhooks, answers, async ({ deliveryId, sentAtMs }) => {
      await target.answered(deliveryId);
      timesMs.push(performance.now() - sentAtMs);
    });
    await closed(bench, waybill.taskQueue, answers);
    return percentile(timesMs, 0.95);
  };
  const baseline = async (count: number): Promise<number> => {
    const timesMs: number[] = [];
    const ids = Array.from({ length: count }, () => randomUUID());
    await atRate(PER_SECOND, ids, bench.signal, async (workflowId) => {
      started.sent += 1;
      const sentAtMs = performance.now();
      const how = { workflowId, taskQueue: floor.taskQueue, args: [workflowId] as [string] };
      await environment.temporal.client.workflow.start<typeof nothing>('nothing', how);
      started.note('accepted', performance.now() - sentAtMs);
      await floor.done.seen(workflowId);
      timesMs.push(performance.now() - sentAtMs);
    });
    await closed(bench, floor.taskQueue, started);
    return percentile(timesMs, 0.95);
  };
  for (const side of [value, baseline]) await side(WARM_UP);
  const sides = { value: () => value(DELIVERIES), baseline: () => baseline(DELIVERIES) };
  const [played] = await playRounds([sides], bench.rounds, (round) => {
    bench.progress(`P16 round ${round} of ${bench.rounds}`);
  });
  if (played === undefined) throw new Error('P16 was not played');
  const { imbalances } = await closeBooks({ waybill, target, answers });
  return {
    id: 'P16',
    what: 'receive to first dispatch, p95',
    unit: 'ms',
    ...played,
    goal: { of: 'ratio', atMost: GOAL_RATIO },
    success: { value: answers.success, baseline: started.success },
    imbalances,
    notes: [`an open loop of ${PER_SECOND} a second, ${DELIVERIES} a round`],
  };
}

/** The last workflows still close: that must not fall on the next measurement. */
async function closed(bench: Bench, taskQueue: string, answers: Answers): Promise<void> {
  await withinPatience(bench, 'all workflows are closed', async () => {
    const count = await bench.environment.temporal.count(taskQueue, 'Completed');
    return count >= answers.accepted;
  });
}

interface Run {
  readonly waybill: Deployment;
  readonly target: Target;
  readonly answers: Answers;
}

async function closeBooks({ waybill, target, answers }: Run): Promise<Books> {
  const rows = await waybill.database.counts(`
    select count(*) as all, count(*) filter (where state = 'Acknowledged') as acknowledged,
      (select count(*) from waybill.delivery_attempts) as attempts from waybill.deliveries`);
  const books = new Books();
  books.answers('requests', answers);
  books.equal('rows', rows['all'], 'accepted', answers.accepted);
  books.equal('acknowledged', rows['acknowledged'], 'accepted', answers.accepted);
  books.equal('attempts', rows['attempts'], 'calls at the target', target.calls);
  return books;
}
