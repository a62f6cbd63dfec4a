/**
 * Starting and nudging the workflows of bulk replays. Both are hints: Postgres knows which jobs are
 * under way, and a loop makes good what was missed here.
 */
import type { Client } from '@temporalio/client';
import type { BulkReplayInput, BulkReplayRef } from '../domain/bulk-replays';
import { NUDGE_SIGNAL } from '../domain/delivery-activities';
import { BULK_REPLAY_WORKFLOW, bulkReplayWorkflowId } from '../domain/workflow-ids';
import { fairlyFor } from './fairness';
import { startAttributes } from './start-attributes';

/** How a job's workflow waits; see its input. */
export type BulkReplayTiming = Pick<BulkReplayInput, 'waitMs' | 'heartbeatMs'>;

export class BulkReplayWorkflows {
  readonly #client: Client;
  readonly #taskQueue: string;
  readonly #timing: BulkReplayTiming;

  constructor(client: Client, taskQueue: string, timing: BulkReplayTiming) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.#timing = timing;
  }

  /** Makes sure that a workflow attends to the job, and tells it that its row has changed. */
  async nudge({ tenantId, jobId }: BulkReplayRef): Promise<void> {
    const input: BulkReplayInput = { tenantId, jobId, ...this.#timing };
    await this.#client.workflow.signalWithStart(BULK_REPLAY_WORKFLOW, {
      workflowId: bulkReplayWorkflowId({ tenantId, jobId }),
      taskQueue: this.#taskQueue,
      args: [input],
      signal: NUDGE_SIGNAL,
      signalArgs: [],
      // Running: tell it. Closed or terminated while the job is under way: start again from the row.
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      typedSearchAttributes: startAttributes(tenantId),
      priority: fairlyFor(tenantId),
      staticSummary: 'bulk replay',
    });
  }
}
