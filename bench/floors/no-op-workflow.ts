/** The floor of an action: a workflow of one ordinary activity that does nothing. */
import { proxyActivities } from '@temporalio/workflow';

export interface NoOpActivities {
  readonly doNothing: (id: string) => Promise<void>;
}

const { doNothing } = proxyActivities<NoOpActivities>({
  startToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});

export async function nothing(id: string): Promise<void> {
  await doNothing(id);
}
