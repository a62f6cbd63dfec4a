/**
 * Starting and nudging action workflows. Both are hints: Postgres knows which actions are open, and a
 * loop makes good what was missed here.
 */
import { type Client, WorkflowNotFoundError, type WorkflowOptions } from '@temporalio/client';
import type { ActionIdentity, ActionWorkflowInput } from '../domain/action-activities';
import { NUDGE_SIGNAL } from '../domain/delivery-activities';
import { ACTION_WORKFLOW, actionWorkflowId } from '../domain/workflow-ids';
import { fairlyFor } from './fairness';
import { startAttributes } from './start-attributes';

/** How an action's workflow waits; see its input. */
export type ActionTiming = Pick<ActionWorkflowInput, 'heartbeatMs' | 'pickUpMs' | 'heldPollMs'>;

export class ActionWorkflows {
  readonly #client: Client;
  readonly #taskQueue: string;
  readonly #timing: ActionTiming;

  constructor(client: Client, taskQueue: string, timing: ActionTiming) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.#timing = timing;
  }

  /** Makes sure that a workflow attends to the action: one that runs already is left alone. */
  async ensure(action: ActionIdentity): Promise<void> {
    await this.#client.workflow.start(ACTION_WORKFLOW, this.#options(action));
  }

  /** The same, and tells a running workflow that its row has changed. */
  async nudge(action: ActionIdentity): Promise<void> {
    await this.#client.workflow.signalWithStart(ACTION_WORKFLOW, {
      ...this.#options(action),
      signal: NUDGE_SIGNAL,
      signalArgs: [],
    });
  }

  /** Tells a workflow that its row has changed, if one runs. */
  async tell(action: ActionIdentity): Promise<void> {
    try {
      await this.#client.workflow.getHandle(actionWorkflowId(action)).signal(NUDGE_SIGNAL);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  #options(action: ActionIdentity) {
    const { tenantId, actionId, capabilityId, requestDigest, affinityKey } = action;
    const input: ActionWorkflowInput = {
      ...{ tenantId, actionId, capabilityId, requestDigest, affinityKey },
      ...this.#timing,
    };
    return {
      workflowId: actionWorkflowId(action),
      taskQueue: this.#taskQueue,
      args: [input],
      // Running: attach. Closed or terminated while the row is open: start again from the row.
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      typedSearchAttributes: startAttributes(tenantId),
      priority: fairlyFor(tenantId),
      staticSummary: capabilityId.slice(0, 200),
    } satisfies WorkflowOptions & { args: [ActionWorkflowInput] };
  }
}
