/**
 * `waybill worker`: a Temporal worker for each queue it serves, and the loops beside them. Stops in
 * order: intake, running activities, loops, client, pools.
 */
import { setMaxListeners } from 'node:events';
import { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { actionActivities } from '../activities/actions';
import { bulkReplayActivities } from '../activities/bulk-replays';
import { certificationActivities } from '../activities/certifications';
import { deliveryActivities } from '../activities/deliveries';
import { operationsActivities } from '../activities/operations';
import { checkDatabase } from '../db/migrations';
import type { Queue } from '../domain/workflow-ids';
import type { Config } from '../schemas/config';
import { temporalClient, temporalSettings, workerConnection } from '../temporal/connections';
import { ensureSchedules } from '../temporal/schedules';
import { registerSearchAttributes } from '../temporal/search-attributes';
import { createTelemetry } from '../telemetry/telemetry';
import { WORKFLOW_BUNDLE } from './bundle-workflows';
import { Closers } from './closers';
import { openDatabase } from './databases';
import { runWorkerLoops } from './worker-loops';
import { workerServices, type WorkerServices } from './worker-services';
import { workerSettings } from './worker-settings';
import { taskQueue } from './workflows';

const TEMPORAL_PATIENCE_MS = 10 * 60_000;

export interface WorkerOptions {
  /** Which queues it serves; at least one. */
  readonly queues: readonly Queue[];
}

export interface RunningWorker {
  /** Whether it polls for work: what readiness means for a worker. */
  readonly polling: () => boolean;
  /** Its metrics as Prometheus text. */
  readonly metrics: () => Promise<string>;
  /** Settles when the worker has stopped, rejects when it broke. */
  readonly done: Promise<void>;
  /** Begins an orderly stop. */
  stop(): void;
}

/** Starts it; resolves once it polls. A start that fails leaves nothing open. */
export async function startWorker(
  config: Config,
  options: WorkerOptions,
  log: Logger,
): Promise<RunningWorker> {
  const closers = new Closers();
  try {
    return await start({ config, options, log }, closers);
  } catch (error) {
    await Promise.allSettled([closers.close()]);
    throw error;
  }
}

interface Wanted {
  readonly config: Config;
  readonly options: WorkerOptions;
  readonly log: Logger;
}

async function start({ config, options, log }: Wanted, closers: Closers): Promise<RunningWorker> {
  const { queues } = options;
  const data = openDatabase(config, 'waybill_data', log);
  closers.add(() => data.close());
  const operations = openDatabase(config, 'waybill_operations', log);
  closers.add(() => operations.close());
  await checkDatabase(data, 'waybill_data');
  await checkDatabase(operations, 'waybill_operations');
  const temporal = temporalClient();
  closers.add(() => temporal.close());
  const telemetry = createTelemetry({ service: 'waybill-worker' });
  const { client } = temporal;
  const parts = { config, log, data, operations, client, telemetry };
  const services = await workerServices(parts, closers);
  const connection = await workerConnection(TEMPORAL_PATIENCE_MS, () => {
    log.warn({ address: temporalSettings().address }, 'waiting for the Temporal server');
  });
  closers.add(() => connection.close());
  await registerSearchAttributes(temporal.connection, temporalSettings().namespace);
  if (queues.includes('operations')) await ensureSchedules(client, taskQueue(config, 'operations'));
  const workers = await Promise.all(
    queues.map((queue) => createWorker({ config, queue, connection, services })),
  );
  const stopping = new AbortController();
  const { signal } = stopping;
  // Each loop listens for the end, and so does each call of theirs.
  setMaxListeners(0, signal);
  const { clock, publishing, deliveries } = services;
  const loops = runWorkerLoops({
    ...{
      config,
      operations,
      telemetry,
      log,
      signal,
      client,
      clock,
      queues,
      publishing,
      deliveries,
    },
  });
  const done = runAll(workers)
    .finally(async () => {
      stopping.abort();
      await loops;
    })
    .finally(() => Promise.allSettled([closers.close()]));
  log.info({ taskQueues: queues.map((queue) => taskQueue(config, queue)) }, 'worker started');
  return {
    polling: () => workers.every((worker) => worker.getState() === 'RUNNING'),
    metrics: telemetry.text,
    done,
    stop: () => {
      stopping.abort();
      shutDown(workers);
    },
  };
}

/** Settles when all have stopped; one that breaks stops the others. */
async function runAll(workers: readonly Worker[]): Promise<void> {
  const runs = workers.map((worker) =>
    worker.run().finally(() => {
      shutDown(workers);
    }),
  );
  const ends = await Promise.allSettled(runs);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

function shutDown(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}

interface QueueParts {
  readonly config: Config;
  readonly queue: Queue;
  readonly connection: Awaited<ReturnType<typeof workerConnection>>;
  readonly services: WorkerServices;
}

function createWorker({ config, queue, connection, services }: QueueParts): Promise<Worker> {
  return Worker.create({
    connection,
    namespace: temporalSettings().namespace,
    taskQueue: taskQueue(config, queue),
    workflowBundle: { codePath: WORKFLOW_BUNDLE },
    activities: activitiesOf(queue, services),
    ...workerSettings(config),
  });
}

function activitiesOf(queue: Queue, services: WorkerServices): object {
  switch (queue) {
    case 'actions':
      return actionActivities(services.actions);
    case 'deliveries':
      return deliveryActivities(services.deliveries);
    case 'operations':
      return {
        ...operationsActivities(services.upkeep),
        ...bulkReplayActivities(services.bulkReplays),
        ...certificationActivities(services.certifications),
      };
  }
}
