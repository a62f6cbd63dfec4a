/**
 * The floor of acting, a process of its own: a Temporal worker with Waybill's settings whose activity
 * does nothing but tell the benchmark that it was there.
 */
import type { NoOpActivities } from './no-op-workflow';
import { runFloorWorker } from './running-worker';

const activities: NoOpActivities = {
  doNothing: (id) => {
    process.send?.(id);
    return Promise.resolve();
  },
};

void runFloorWorker({
  workflowsPath: require.resolve('./no-op-workflow'),
  activities,
}).then(() => process.exit(0));
