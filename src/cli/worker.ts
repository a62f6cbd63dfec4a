/** `waybill worker`: the Temporal worker and its loops, with a small server that tells its health. */
import type { Command } from 'commander';
import type { WorkerCondition } from '../workers/health';
import { surroundings } from './support/environment';
import { runUntilAsked } from './support/long-running';
import { namingDatabase } from './support/storage';

export function addWorker(program: Command): void {
  program
    .command('worker')
    .description('Dispatch deliveries until SIGTERM or Ctrl-C.')
    .addHelpText(
      'after',
      '\nTells its health on WAYBILL_HEALTH_PORT (7381): /health, /ready while it polls, /metrics.\n' +
        'Finds Temporal by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the like.\n' +
        '\nExample:\n  $ waybill worker\n',
    )
    .action(work);
}

async function work(): Promise<void> {
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
    const worker = await namingDatabase(setting, () => startWorker(config, log));
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
