/** The workflows of this deployment: queues and timing from its settings. */
import type { Client } from '@temporalio/client';
import type { Queue } from '../domain/workflow-ids';
import type { Config } from '../schemas/config';
import { ActionWorkflows } from '../temporal/action-starter';
import { CertificationWorkflows } from '../temporal/certification-starter';
import { BulkReplayWorkflows } from '../temporal/bulk-replay-starter';
import { DeliveryWorkflows } from '../temporal/delivery-starter';

/** A person takes longer than a release of held deliveries: so many times as long between two looks. */
const OPERATOR_POLLS = 10;

/** How long a dispatch waits for a worker before it is proven that nothing was sent. */
const PICK_UP_MS = 30_000;

/** How long a certification waits for a host of the sandbox. */
const HOST_WAIT_MS = 10 * 60_000;

export function taskQueue(config: Config, queue: Queue): string {
  return `${config.temporal.taskQueuePrefix}${queue}`;
}

export function deliveryWorkflows(config: Config, client: Client): DeliveryWorkflows {
  return new DeliveryWorkflows(client, taskQueue(config, 'deliveries'), {
    failedWaitMs: config.temporal.failedWaitMs,
    heldPollMs: config.temporal.heldPollMs,
    heartbeatMs: config.temporal.heartbeatMs,
  });
}

/** On the queue of operations: planning and pacing take nothing from live deliveries. */
export function bulkReplayWorkflows(config: Config, client: Client): BulkReplayWorkflows {
  return new BulkReplayWorkflows(client, taskQueue(config, 'operations'), {
    waitMs: config.temporal.failedWaitMs,
    heartbeatMs: config.temporal.heartbeatMs,
  });
}

export function certificationWorkflows(config: Config, client: Client): CertificationWorkflows {
  return new CertificationWorkflows(client, taskQueue(config, 'operations'), {
    hostWaitMs: HOST_WAIT_MS,
    heartbeatMs: config.temporal.heartbeatMs,
  });
}

export function actionWorkflows(config: Config, client: Client): ActionWorkflows {
  return new ActionWorkflows(client, taskQueue(config, 'actions'), {
    heartbeatMs: config.temporal.heartbeatMs,
    pickUpMs: PICK_UP_MS,
    heldPollMs: config.temporal.heldPollMs * OPERATOR_POLLS,
  });
}
