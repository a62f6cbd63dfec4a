/** A Temporal worker with Waybill's settings, until the benchmark asks for its end. */
import { createServer } from 'node:http';
import { Worker, type WorkerOptions } from '@temporalio/worker';
import { parseConfig } from '../../src/schemas/config';
import { temporalSettings, workerConnection } from '../../src/temporal/connections';
import { workerSettings } from '../../src/workers/worker-settings';
import { endOfBenchmark, setting } from './settings';

const TEMPORAL_PATIENCE_MS = 10_000;

/** Takes what `FLOOR_TASK_QUEUE` holds, and tells on `FLOOR_PORT` whether it runs. */
export async function runFloorWorker(
  job: Required<Pick<WorkerOptions, 'workflowsPath' | 'activities'>>,
): Promise<void> {
  const connection = await workerConnection(TEMPORAL_PATIENCE_MS, () => undefined);
  const worker = await Worker.create({
    connection,
    namespace: temporalSettings().namespace,
    taskQueue: setting('FLOOR_TASK_QUEUE'),
    ...job,
    ...workerSettings(parseConfig(process.env)),
  });
  const health = createServer((_request, response) => {
    response.writeHead(worker.getState() === 'RUNNING' ? 200 : 503).end();
  });
  health.listen(Number(setting('FLOOR_PORT')), '127.0.0.1');
  await worker.runUntil(endOfBenchmark());
  health.close();
}
