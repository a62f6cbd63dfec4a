/**
 * The floor of dispatching, a process of its own: a Temporal worker with Waybill's settings whose
 * activity makes the same signed call and writes nothing.
 */
import { signStandardWebhook } from '../../src/signing/webhooks/standard-sign';
import { httpTargets } from '../../src/targets/http-target';
import { runFloorWorker } from './running-worker';
import { setting } from './settings';
import type { FloorActivities } from './workflow';

const TARGET_TIMEOUT_MS = 10_000;
/** The target of a benchmark is on this machine. */
const LOOPBACK = { http: false, ports: [443], allow: ['127.0.0.0/8'] };

async function run(): Promise<void> {
  const targets = httpTargets({
    policy: () => Promise.resolve(LOOPBACK),
  });
  await runFloorWorker({
    workflowsPath: require.resolve('./workflow'),
    activities: floorActivities(targets.call),
  });
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
