/**
 * `waybill worker`: a Temporal worker for the queue `deliveries`, and the loops beside it. Stops in
 * order: intake, running activities, loops, client, pools.
 */
import { Worker } from '@temporalio/worker';
import type { Logger } from 'pino';
import { deliveryActivities } from '../activities/deliveries';
import type { Database } from '../db/database';
import { forgetExpired } from '../db/deliveries';
import { checkDatabase } from '../db/migrations';
import type { Config } from '../schemas/config';
import type { AttemptServices } from '../services/attempt-services';
import { httpTargets } from '../targets/http-target';
import { temporalClient, temporalSettings, workerConnection } from '../temporal/connections';
import { registerSearchAttributes } from '../temporal/search-attributes';
import type { Telemetry } from '../telemetry/telemetry';
import { createTelemetry } from '../telemetry/telemetry';
import { WORKFLOW_BUNDLE } from './bundle-workflows';
import { Closers } from './closers';
import { openDatabase } from './databases';
import { deliveryWorkflows, taskQueue } from './delivery-workflows';
import { attendRound } from './loops/attend';
import { runLoop } from './loops/loop';
import { reportFigures } from './loops/report-figures';
import { processSecrets } from './secrets';
import { loadSigningKey } from './signing-keys';
import { CONNECTIONS_PER_TARGET, workerSettings } from './worker-settings';

const ATTEND_INTERVAL_MS = 500;
const UPKEEP_INTERVAL_MS = 60_000;
const UPKEEP_BATCH = 500;
const TEMPORAL_PATIENCE_MS = 10 * 60_000;

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
export async function startWorker(config: Config, log: Logger): Promise<RunningWorker> {
  const closers = new Closers();
  try {
    return await start(config, log, closers);
  } catch (error) {
    await Promise.allSettled([closers.close()]);
    throw error;
  }
}

async function start(config: Config, log: Logger, closers: Closers): Promise<RunningWorker> {
  const data = openDatabase(config, 'waybill_data', log);
  closers.add(() => data.close());
  const operations = openDatabase(config, 'waybill_operations', log);
  closers.add(() => operations.close());
  await checkDatabase(data, 'waybill_data');
  await checkDatabase(operations, 'waybill_operations');
  const temporal = temporalClient();
  closers.add(() => temporal.close());
  const targets = httpTargets({ connectionsPerOrigin: CONNECTIONS_PER_TARGET });
  closers.add(() => targets.close());
  const secrets = processSecrets(config);
  const telemetry = createTelemetry({ service: 'waybill-worker' });
  const services: AttemptServices = {
    data,
    secrets,
    signingKey: await loadSigningKey(config, secrets),
    call: targets.call,
    random: Math.random,
    metrics: telemetry.deliveries,
  };
  const connection = await workerConnection(TEMPORAL_PATIENCE_MS, () => {
    log.warn({ address: temporalSettings().address }, 'waiting for the Temporal server');
  });
  closers.add(() => connection.close());
  await registerSearchAttributes(temporal.connection, temporalSettings().namespace);
  const worker = await createWorker(config, connection, services);
  const stopping = new AbortController();
  const loops = startLoops({
    config,
    operations,
    telemetry,
    log,
    stopping,
    client: temporal.client,
  });
  const done = worker
    .run()
    .finally(async () => {
      stopping.abort();
      await loops;
    })
    .finally(() => Promise.allSettled([closers.close()]));
  log.info({ taskQueue: taskQueue(config) }, 'worker started');
  return {
    polling: () => worker.getState() === 'RUNNING',
    metrics: telemetry.text,
    done,
    stop: () => {
      stopping.abort();
      if (worker.getState() === 'RUNNING') worker.shutdown();
    },
  };
}

function createWorker(
  config: Config,
  connection: Awaited<ReturnType<typeof workerConnection>>,
  services: AttemptServices,
): Promise<Worker> {
  return Worker.create({
    connection,
    namespace: temporalSettings().namespace,
    taskQueue: taskQueue(config),
    workflowBundle: { codePath: WORKFLOW_BUNDLE },
    activities: deliveryActivities(services),
    ...workerSettings(config),
  });
}

interface LoopContext {
  readonly config: Config;
  readonly operations: Database;
  readonly telemetry: Telemetry;
  readonly log: Logger;
  readonly stopping: AbortController;
  readonly client: ReturnType<typeof temporalClient>['client'];
}

async function startLoops(context: LoopContext): Promise<void> {
  const { config, operations, telemetry, log } = context;
  const { signal } = context.stopping;
  const workflows = deliveryWorkflows(config, context.client);
  await Promise.all([
    runLoop({
      name: 'attend',
      intervalMs: ATTEND_INTERVAL_MS,
      round: () => attendRound({ operations, workflows, log }),
      signal,
      log,
    }),
    runLoop({
      name: 'forget-expired',
      intervalMs: UPKEEP_INTERVAL_MS,
      round: () => forgetExpired(operations, UPKEEP_BATCH),
      signal,
      log,
    }),
    reportFigures({ operations, telemetry, signal, log }),
  ]);
}
