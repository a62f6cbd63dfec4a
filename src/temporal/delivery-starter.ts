/**
 * Starting and nudging delivery workflows. Both are hints: Postgres knows which deliveries are live,
 * and a loop makes good what was missed here.
 */
import type { Client, WorkflowOptions } from '@temporalio/client';
import type { Priority } from '@temporalio/common';
import type {
  DeliveryAbout,
  DeliveryRef,
  DeliveryWorkflowInput,
} from '../domain/delivery-activities';
import { NUDGE_SIGNAL } from '../domain/delivery-activities';
import { DELIVERY_WORKFLOW, deliveryWorkflowId } from '../domain/workflow-ids';
import { fairlyFor } from './fairness';
import { startAttributes } from './start-attributes';

export interface DeliveryTiming {
  readonly failedWaitMs: number;
  readonly heldPollMs: number;
  readonly heartbeatMs: number;
}

export class DeliveryWorkflows {
  readonly #client: Client;
  readonly #taskQueue: string;
  readonly #timing: DeliveryTiming;

  constructor(client: Client, taskQueue: string, timing: DeliveryTiming) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.#timing = timing;
  }

  /** Makes sure that a workflow attends to the delivery: one that runs already is left alone. */
  async ensure(ref: DeliveryRef, about: DeliveryAbout): Promise<void> {
    await this.#client.workflow.start(DELIVERY_WORKFLOW, this.#options(ref, about));
  }

  /** The same, and tells a running workflow that its row has changed. */
  async nudge(ref: DeliveryRef, about: DeliveryAbout): Promise<void> {
    await this.#signal(ref, about, fairlyFor(ref.tenantId));
  }

  /** The same for one of many that are replayed: where it is started anew, live ones go first. */
  async replay(ref: DeliveryRef, about: DeliveryAbout): Promise<void> {
    await this.#signal(ref, about, fairlyFor(ref.tenantId, 'later'));
  }

  async #signal(ref: DeliveryRef, about: DeliveryAbout, priority: Priority): Promise<void> {
    await this.#client.workflow.signalWithStart(DELIVERY_WORKFLOW, {
      ...this.#options(ref, about),
      priority,
      signal: NUDGE_SIGNAL,
      signalArgs: [],
    });
  }

  #options(ref: DeliveryRef, about: DeliveryAbout) {
    const input: DeliveryWorkflowInput = {
      tenantId: ref.tenantId,
      deliveryId: ref.deliveryId,
      ...this.#timing,
    };
    return {
      workflowId: deliveryWorkflowId(ref.tenantId, ref.deliveryId),
      taskQueue: this.#taskQueue,
      args: [input],
      // Running: attach. Closed or terminated while the row is live: start again from the row.
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      typedSearchAttributes: startAttributes(ref.tenantId, about.connectorId),
      priority: fairlyFor(ref.tenantId),
      staticSummary: `${about.eventType} for ${about.subscriptionId ?? about.connectorId}`.slice(
        0,
        200,
      ),
    } satisfies WorkflowOptions & { args: [DeliveryWorkflowInput] };
  }
}
