/** The delivery workflows of this deployment: queue and timing from its settings. */
import type { Client } from '@temporalio/client';
import { DELIVERY_QUEUE } from '../domain/workflow-ids';
import type { Config } from '../schemas/config';
import { DeliveryWorkflows } from '../temporal/delivery-starter';

export function taskQueue(config: Config): string {
  return `${config.temporal.taskQueuePrefix}${DELIVERY_QUEUE}`;
}

export function deliveryWorkflows(config: Config, client: Client): DeliveryWorkflows {
  return new DeliveryWorkflows(client, taskQueue(config), {
    failedWaitMs: config.temporal.failedWaitMs,
    heldPollMs: config.temporal.heldPollMs,
    heartbeatMs: config.temporal.heartbeatMs,
  });
}
