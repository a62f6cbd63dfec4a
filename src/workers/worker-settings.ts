/** How a Temporal worker of Waybill is set; the floor of its benchmark is set the same way. */
import type { WorkerOptions } from '@temporalio/worker';
import type { Config } from '../schemas/config';

/** Connections to one host at once. */
export const CONNECTIONS_PER_HOST = 64;

/** About 20 kB each: bounded well below what a small machine has. */
const CACHED_WORKFLOWS = 500;
const STICKY_TIMEOUT_MS = 2_000;
const CONCURRENT_ATTEMPTS = 100;
const FORCED_AFTER_GRACE_MS = 10_000;

/** Everything but what the worker runs and where. */
export function workerSettings({ temporal }: Config) {
  return {
    maxCachedWorkflows: CACHED_WORKFLOWS,
    // After a worker's death its workflows go on elsewhere this soon; histories are short to replay.
    stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT_MS,
    maxConcurrentActivityTaskExecutions: CONCURRENT_ATTEMPTS,
    // A running attempt finishes, or is closed as lost, inside the grace time.
    shutdownGraceTime: temporal.shutdownGraceMs,
    shutdownForceTime: temporal.shutdownGraceMs + FORCED_AFTER_GRACE_MS,
  } as const satisfies Partial<WorkerOptions>;
}
