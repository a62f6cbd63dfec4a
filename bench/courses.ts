/** A lane from end to end, and its floor, ready to take requests: for P14, P15, P22 and P23. */
import type { Lane } from '../src/domain/lanes';
import { pollUntil } from '../src/workers/embedded/poll';
import type { Closers } from '../src/workers/closers';
import type { Bench } from './benchmark';
import type { BenchDatabase } from './databases';
import { deploy, INGRESS_SECRET } from './deployment';
import { startFloors } from './floor';
import { Answers } from './ledger';
import { Senders, type Accepted } from './senders';
import { startTarget, type Target } from './target';
import { newWebhooks } from './webhooks';

/** One side: where requests go in, where they come out, and how to tell that all of them are through. */
export interface Course {
  readonly answers: Answers;
  readonly target: Target;
  readonly database: BenchDatabase;
  readonly taskQueue: string;
  /** Milliseconds of each delivery from its request to the target's answer. */
  readonly throughMs: readonly number[];
  /**
   * Sends new webhooks and answers the milliseconds from the first request until all of them are
   * acknowledged. Each sender goes on when the target has answered its last delivery.
   */
  run(count: number): Promise<number>;
  /** The same at a given rate, whatever becomes of them. */
  runAt(perSecond: number, count: number): Promise<number>;
}

export interface Courses {
  readonly value: Course;
  readonly baseline: Course;
}

/** No run of a course takes this long; one that does ends the benchmark. */
const PATIENCE_MS = 120_000;
const POLL_MS = 20;

/** Starts both sides, each with processes, database, queue and target of its own. */
export async function startCourses(
  bench: Bench,
  closers: Closers,
  { name, lane = 'durable' }: { readonly name: string; readonly lane?: Lane },
): Promise<Courses> {
  const { environment } = bench;
  const [ours, bare] = [await startTarget(closers), await startTarget(closers)];
  const options = { environment, closers, name };
  const waybill = await deploy({ ...options, targetUrl: ours.url, lane });
  // Where ours needs no workflow, the floor has none.
  const relaying = lane === 'express' ? ({ relays: true } as const) : {};
  const floor = await startFloors({ ...options, targetUrl: bare.url, ...relaying });
  const acknowledged = () => waybill.database.deliveries(`state = 'Acknowledged'`);
  const value = course(bench, closers, {
    url: waybill.ingressUrl,
    target: ours,
    ...waybill,
    acknowledged,
    hasWorkflows: lane === 'durable',
  });
  // The floor keeps no state: it has done its work when the target has answered.
  const baseline = course(bench, closers, {
    url: floor.acceptUrl,
    target: bare,
    ...floor,
    acknowledged: () => Promise.resolve(bare.deliveries),
    hasWorkflows: lane === 'durable',
  });
  return { value, baseline };
}

/**
 * Warms both sides up, and gives their tables the statistics that autovacuum keeps of tables in use: plans
 * that were made while they were empty read all of them.
 */
export async function warmUp(
  { value, baseline }: Courses,
  run: (course: Course) => Promise<unknown>,
): Promise<void> {
  for (const course of [value, baseline]) {
    await run(course);
    await course.database.run('vacuum analyze');
  }
}

interface Parts {
  readonly url: string;
  readonly target: Target;
  readonly database: BenchDatabase;
  readonly taskQueue: string;
  /** How many deliveries are acknowledged by now. */
  readonly acknowledged: () => Promise<number>;
  readonly hasWorkflows: boolean;
}

function course(bench: Bench, closers: Closers, parts: Parts): Course {
  const { target, database, taskQueue } = parts;
  const senders = new Senders(parts.url, bench.signal);
  closers.add(() => senders.close());
  const answers = new Answers();
  const throughMs: number[] = [];
  const reached = (what: string, check: () => Promise<boolean>) =>
    withinPatience(bench, what, check);
  const through = async ({ deliveryId, sentAtMs }: Accepted): Promise<void> => {
    await target.answered(deliveryId);
    throughMs.push(performance.now() - sentAtMs);
  };
  const isThrough = async (started: number): Promise<number> => {
    await reached('all deliveries are acknowledged', async () => {
      return (await parts.acknowledged()) >= answers.accepted;
    });
    const elapsedMs = performance.now() - started;
    // The last workflows still close: that must not fall on the next measurement.
    if (parts.hasWorkflows) {
      await reached('all workflows are closed', async () => {
        const closed = await bench.environment.temporal.count(taskQueue, 'Completed');
        return closed >= answers.accepted;
      });
    }
    return elapsedMs;
  };
  return {
    ...{ answers, target, database, taskQueue, throughMs },
    run: async (count) => {
      const started = performance.now();
      await senders.send(newWebhooks(INGRESS_SECRET, count), answers, through);
      return await isThrough(started);
    },
    runAt: async (perSecond, count) => {
      const started = performance.now();
      const webhooks = newWebhooks(INGRESS_SECRET, count);
      await senders.sendAt(perSecond, webhooks, answers, through);
      return await isThrough(started);
    },
  };
}

/** @throws Error when it does not hold within two minutes */
export async function withinPatience(
  bench: Bench,
  what: string,
  check: () => Promise<boolean>,
): Promise<void> {
  const { signal } = bench;
  const done = await pollUntil(check, { timeoutMs: PATIENCE_MS, intervalMs: POLL_MS, signal });
  signal.throwIfAborted();
  if (!done) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`);
}
