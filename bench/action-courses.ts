/** Actions from their start to their end, and their floor, ready to be run: for P13 and P14. */
import { randomUUID } from 'node:crypto';
import { parseConfig } from '../src/schemas/config';
import { developmentToken } from '../src/cli/support/api-access';
import type { Closers } from '../src/workers/closers';
import { deployActions, startNoOpFloor } from './action-deployment';
import type { ActionDeployment, NoOpFloor, NullHost } from './action-deployment';
import type { Bench } from './benchmark';
import { withinPatience } from './courses';
import { CpuMeter, type MeasuredProcess } from './cpu';
import type { BenchDatabase } from './databases';
import type { nothing } from './floors/no-op-workflow';
import { NOTHING, NULL_HOST } from './hosts/nothing';
import { Answers } from './ledger';
import { inClosedLoop, senderPool } from './senders';
import type { Sightings } from './sightings';
import { BODY_BYTES } from './webhooks';

/** Its ids begin with the number of their run, from 1 on. */
export interface ActionCourse {
  readonly answers: Answers;
  /** What has reached the far end: the null host, or the floor's activity. */
  readonly done: Sightings;
  readonly taskQueue: string;
  /** Of the runs; its last moments are not in it, when all are closed and nobody waits. */
  readonly cpu: CpuMeter;
  /**
   * Starts new ones and answers the milliseconds from the first start to the end of the last. Each
   * sender goes on when its last one has reached the far end.
   */
  run(count: number): Promise<number>;
}

export interface ActionCourses {
  readonly value: ActionCourse;
  readonly baseline: ActionCourse;
  readonly database: BenchDatabase;
  readonly host: NullHost;
}

/** Starts both sides, each with processes and queue of its own. */
export async function startActionCourses(
  bench: Bench,
  closers: Closers,
  name: string,
): Promise<ActionCourses> {
  const options = { environment: bench.environment, closers, name };
  const waybill = await deployActions(options);
  const floor = await startNoOpFloor(options);
  return {
    value: valueCourse(bench, closers, waybill),
    baseline: baselineCourse(bench, floor),
    database: waybill.database,
    host: waybill.host,
  };
}

function valueCourse(bench: Bench, closers: Closers, waybill: ActionDeployment): ActionCourse {
  const { database, host, url, env } = waybill;
  const pool = senderPool(url);
  closers.add(() => pool.destroy());
  const headers = { 'content-type': 'application/json', authorization: '' };
  return course(bench, {
    ...{ done: host.done, taskQueue: waybill.taskQueue, processes: waybill.processes },
    prepare: async () => {
      // Good for longer than any run takes.
      const token = await developmentToken(parseConfig(env), NULL_HOST.tenantId);
      headers.authorization = `Bearer ${token}`;
    },
    start: async (id) => {
      const path = `/v1/actions/${id}`;
      const answer = await pool.request({ method: 'PUT', path, headers, body: bodyOf(id) });
      await answer.body.dump();
      return [200, 202].includes(answer.statusCode) ? 'accepted' : `status ${answer.statusCode}`;
    },
    isOver: async (count) => {
      const counts = await database.counts(
        'select count(*) as closed from waybill.actions where closed_at is not null',
      );
      return (counts['closed'] ?? 0) >= count;
    },
  });
}

/** The floor keeps no state: its work is done when its last activity has run. */
function baselineCourse(bench: Bench, { done, taskQueue, processes }: NoOpFloor): ActionCourse {
  const { client } = bench.environment.temporal;
  return course(bench, {
    ...{ done, taskQueue, processes },
    prepare: () => Promise.resolve(),
    start: async (id) => {
      await client.workflow.start<typeof nothing>('nothing', {
        workflowId: id,
        taskQueue,
        args: [id],
      });
      return 'accepted';
    },
    isOver: (count) => Promise.resolve(done.different >= count),
  });
}

interface Parts {
  readonly done: Sightings;
  readonly taskQueue: string;
  readonly processes: readonly MeasuredProcess[];
  readonly prepare: () => Promise<void>;
  /** Starts one and answers its outcome. */
  readonly start: (id: string) => Promise<string>;
  /** Whether so many have ended by now. */
  readonly isOver: (count: number) => Promise<boolean>;
}

function course(bench: Bench, parts: Parts): ActionCourse {
  const { signal, environment } = bench;
  const { done, taskQueue, processes } = parts;
  const answers = new Answers();
  const driver: MeasuredProcess = { name: 'driver', pid: process.pid };
  const cpu = new CpuMeter([...environment.servers, ...processes, driver]);
  let runs = 0;
  return {
    ...{ answers, done, taskQueue, cpu },
    run: async (count) => {
      runs += 1;
      const ids = Array.from({ length: count }, () => `${runs}-${randomUUID()}`);
      await parts.prepare();
      const measured = cpu.begin();
      const started = performance.now();
      await inClosedLoop(ids, signal, async (id) => {
        answers.sent += 1;
        const sentAtMs = performance.now();
        const outcome = await parts.start(id);
        answers.note(outcome, performance.now() - sentAtMs);
        if (outcome === 'accepted') await done.seen(id);
      });
      await withinPatience(bench, 'all actions are closed', () => parts.isOver(answers.accepted));
      const elapsedMs = performance.now() - started;
      measured();
      // The last workflows still close: that must not fall on the next measurement.
      await withinPatience(bench, 'all workflows are closed', async () => {
        return (await environment.temporal.count(taskQueue, 'Completed')) >= answers.accepted;
      });
      return elapsedMs;
    },
  };
}

/** A request of its own for every action. */
function bodyOf(id: string): string {
  const bare = JSON.stringify({ capabilityId: NOTHING, request: { pad: '' } });
  const pad = id.padEnd(BODY_BYTES - bare.length, 'x');
  return JSON.stringify({ capabilityId: NOTHING, request: { pad } });
}
