/** The schedules of upkeep (docs/architecture, "Upkeep"), as people see them in the Temporal UI. */
import type { Client, ScheduleOptions } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { UpkeepInput, UpkeepJob } from '../domain/upkeep';
import { UPKEEP_WORKFLOW } from '../domain/workflow-ids';

interface Job {
  /** Last part of the schedule's id. */
  readonly name: string;
  readonly every: `${number} minutes`;
  /** So that not everything begins in the same second. */
  readonly offset: `${number} seconds`;
  readonly note: string;
}

const JOBS: Readonly<Record<UpkeepJob, Job>> = {
  retainActions: {
    name: 'retain-actions',
    every: '10 minutes',
    offset: '20 seconds',
    note: 'Removes closed actions, bytes and tombstones whose time is over.',
  },
  auditCounters: {
    name: 'audit-counters',
    every: '15 minutes',
    offset: '40 seconds',
    note: 'Compares every counter with the open attempts.',
  },
  forgetExpired: {
    name: 'forget-expired',
    every: '5 minutes',
    offset: '0 seconds',
    note: 'Removes dedup keys, bytes of rejected requests and events whose time is over.',
  },
  retainDeliveries: {
    name: 'retain-deliveries',
    every: '10 minutes',
    offset: '50 seconds',
    note: 'Removes payloads and rows of deliveries, and bulk replays, whose time is over.',
  },
  checkpointReceipts: {
    name: 'checkpoint-receipts',
    every: '5 minutes',
    offset: '30 seconds',
    note: 'Signs what the closed chains of receipts have come to.',
  },
  removeReceipts: {
    name: 'remove-receipts',
    every: '60 minutes',
    offset: '10 seconds',
    note: 'Removes receipts whose time is over, and signs that it did.',
  },
};

/** Of a run that was missed while the server was away: the next one does its work. */
const CATCHUP_WINDOW = '1 minute';
const RUN_TIMEOUT = '30 minutes';

export function scheduleId(taskQueue: string, job: UpkeepJob): string {
  return `${taskQueue}/${JOBS[job].name}`;
}

/**
 * Makes sure that the schedules are there as this build wants them; may be repeated, and by several
 * workers at once. One that a person has paused stays paused.
 */
export async function ensureSchedules(client: Client, taskQueue: string): Promise<void> {
  for (const job of Object.keys(JOBS) as UpkeepJob[]) {
    const wanted = scheduleOf(taskQueue, job);
    try {
      await client.schedule.create(wanted);
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      const { spec, action, policies } = wanted;
      await client.schedule
        .getHandle(wanted.scheduleId)
        .update(({ state }) => ({ spec, action, policies, state }));
    }
  }
}

function scheduleOf(taskQueue: string, job: UpkeepJob) {
  const { every, offset, note } = JOBS[job];
  const input: UpkeepInput = { job };
  return {
    scheduleId: scheduleId(taskQueue, job),
    spec: { intervals: [{ every, offset }] },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCHUP_WINDOW },
    state: { note },
    action: {
      type: 'startWorkflow',
      workflowType: UPKEEP_WORKFLOW,
      // The server adds when; two deployments in one namespace have queues of different names.
      workflowId: scheduleId(taskQueue, job),
      taskQueue,
      args: [input],
      workflowExecutionTimeout: RUN_TIMEOUT,
      staticSummary: note,
    },
  } as const satisfies ScheduleOptions;
}
