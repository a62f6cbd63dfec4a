/** The floor of a durable delivery: a workflow of one ordinary activity that makes the call. */
import { proxyActivities } from '@temporalio/workflow';

export interface FloorActivities {
  readonly post: (deliveryId: string, payload: Uint8Array) => Promise<void>;
}

const { post } = proxyActivities<FloorActivities>({
  startToCloseTimeout: '1 minute',
  retry: { maximumAttempts: 1 },
});

export async function deliverOnce(deliveryId: string, payload: Uint8Array): Promise<void> {
  await post(deliveryId, payload);
}
