/**
 * The floor of dispatching, a process of its own: a Temporal worker with Waybill's settings whose
 * activity makes the same signed call and writes nothing.
 */
import { createServer } from 'node:http';
import { Worker } from '@temporalio/worker';
import { parseConfig } from '../../src/schemas/config';
import { signStandardWebhook } from '../../src/signing/webhooks/standard-sign';
import { httpTargets } from '../../src/targets/http-target';
import { temporalSettings, workerConnection } from '../../src/temporal/connections';
import { CONNECTIONS_PER_TARGET, workerSettings } from '../../src/workers/worker-settings';
import { endOfBenchmark, setting } from './settings';
import type { FloorActivities } from './workflow';

const TARGET_TIMEOUT_MS = 10_000;
const TEMPORAL_PATIENCE_MS = 10_000;

async function run(): Promise<void> {
  const targets = httpTargets({ connectionsPerOrigin: CONNECTIONS_PER_TARGET });
  const connection = await workerConnection(TEMPORAL_PATIENCE_MS, () => undefined);
  const worker = await Worker.create({
    connection,
    namespace: temporalSettings().namespace,
    taskQueue: setting('FLOOR_TASK_QUEUE'),
    workflowsPath: require.resolve('./workflow'),
    activities: floorActivities(targets.call),
    ...workerSettings(parseConfig(process.env)),
  });
  const health = createServer((_request, response) => {
    response.writeHead(worker.getState() === 'RUNNING' ? 200 : 503).end();
  });
  health.listen(Number(setting('FLOOR_PORT')), '127.0.0.1');
  await worker.runUntil(endOfBenchmark());
  health.close();
}

function floorActivities(call: ReturnType<typeof httpTargets>['call']): FloorActivities {
  const url = setting('FLOOR_TARGET_URL');
  const secrets = [setting('FLOOR_TARGET_SECRET')];
  return {
    post: async (deliveryId, body) => {
      const { answer } = await call({
        url,
        headers: {
          'content-type': 'application/json',
          'waybill-delivery-id': deliveryId,
          ...signStandardWebhook({ id: deliveryId, sentAtMs: Date.now(), body, secrets }),
        },
        body,
        timeoutMs: TARGET_TIMEOUT_MS,
        success: null,
        signal: new AbortController().signal,
      });
      if (answer.kind !== 'answered') throw new Error(`the target did not answer: ${answer.kind}`);
    },
  };
}

void run().then(() => process.exit(0));
