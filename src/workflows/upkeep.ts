/** One run of one job of upkeep, started by its schedule. Its result is what the job has done. */
import { proxyActivities } from '@temporalio/workflow';
import type { UpkeepActivities, UpkeepInput } from '../domain/upkeep';

const activities = proxyActivities<UpkeepActivities>({
  startToCloseTimeout: '20 minutes',
  heartbeatTimeout: '30 seconds',
  retry: { initialInterval: '5 seconds', maximumInterval: '1 minute', maximumAttempts: 5 },
});

export async function upkeep({
  job,
}: UpkeepInput): Promise<Awaited<ReturnType<UpkeepActivities[typeof job]>>> {
  return await activities[job]();
}
