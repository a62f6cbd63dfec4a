/** `waybill worker`: the Temporal worker and its loops, with a small server that tells its health. */
import { InvalidArgumentError, type Command } from 'commander';
import { QUEUES, type Queue } from '../domain/workflow-ids';
import type { WorkerCondition } from '../workers/health';
import { surroundings } from './support/environment';
import { runUntilAsked } from './support/long-running';
import { namingDatabase } from './support/storage';

export function addWorker(program: Command): void {
  program
    .command('worker')
    .description('Carry out actions, dispatch deliveries and keep house until SIGTERM or Ctrl-C.')
    .option(
      '--queues <names>',
      'which task queues to serve, separated by commas: actions, deliveries, operations',
      parseQueues,
      [...QUEUES],
    )
    .addHelpText(
      'after',
      '\nTells its health on WAYBILL_HEALTH_PORT (7381): /health, /ready while it polls, /metrics.\n' +
        'Finds Temporal by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the like.\n' +
        '\nExample: deliveries only, beside a worker for the actions\n' +
        '  $ waybill worker --queues deliveries\n',
    )
    .action(work);
}

function parseQueues(text: string): Queue[] {
  const names = text.split(',').map((name) => name.trim());
  const queues = QUEUES.filter((queue) => names.includes(queue));
  if (queues.length !== new Set(names).size) {
    throw new InvalidArgumentError(`It takes ${QUEUES.join(', ')}.`);
  }
  return queues;
}

async function work({ queues }: { readonly queues: readonly Queue[] }): Promise<void> {
  const { config } = surroundings();
  const { createLogger, installTemporalRuntime } = await import('../workers/logging.js');
  const { databaseSetting } = await import('../workers/databases.js');
  const { startHealthServer } = await import('../workers/health.js');
  const { startWorker } = await import('../workers/worker-process.js');
  const log = createLogger(config.logLevel, 'waybill-worker');
  installTemporalRuntime(log);
  let condition: WorkerCondition = { polling: () => false, metrics: () => Promise.resolve('') };
  // Before the worker itself: waiting for the Temporal server is alive, and not ready.
  const health = await startHealthServer(config, log, {
    polling: () => condition.polling(),
    metrics: () => condition.metrics(),
  });
  await runUntilAsked(async () => {
    const setting = databaseSetting(config, 'waybill_data');
    const worker = await namingDatabase(setting, () => startWorker(config, { queues }, log));
    condition = worker;
    return {
      broken: worker.done,
      stop: async () => {
        log.info('stopping');
        worker.stop();
        await worker.done;
      },
    };
  }).finally(() => health.close());
}
