/**
 * Deliveries that become a workflow of somebody else, or a signal to one (docs/architecture, "Workflow
 * targets"). Both may be asked for again: the id comes from the delivery, and a signal names it.
 */
import type { Client } from '@temporalio/client';
import {
  isGrpcServiceError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type {
  DispatchToWorkflow,
  WorkflowDispatch,
  WorkflowReport,
} from '../domain/workflow-targets';
import { targetWorkflowId } from '../domain/workflow-targets';
import { fairlyFor } from './fairness';

/** gRPC: what no later try can cure. */
const FOR_GOOD: readonly number[] = [
  3, // INVALID_ARGUMENT
  7, // PERMISSION_DENIED
  9, // FAILED_PRECONDITION
  12, // UNIMPLEMENTED
  16, // UNAUTHENTICATED
];

/** @param ownQueues Waybill's: what a tenant configures never runs there */
export function workflowTargets(client: Client, ownQueues: readonly string[]): DispatchToWorkflow {
  return async (dispatch) => {
    const { taskQueue } = dispatch.target;
    if (ownQueues.includes(taskQueue)) {
      const detail = `the task queue ${taskQueue} is Waybill's own`;
      return { kind: 'refused', detail, forGood: true };
    }
    const workflowId = targetWorkflowId(dispatch);
    try {
      return await client.withDeadline(Date.now() + dispatch.timeoutMs, () =>
        dispatch.target.signal === null
          ? start(client, dispatch, workflowId)
          : signal(client, dispatch, { workflowId, name: dispatch.target.signal.name }),
      );
    } catch (error) {
      return failure(error, workflowId);
    }
  };
}

async function start(
  client: Client,
  { tenantId, target, input, summary }: WorkflowDispatch,
  workflowId: string,
): Promise<WorkflowReport> {
  await client.workflow.start(target.workflowType, {
    ...{ workflowId, taskQueue: target.taskQueue, args: [input] },
    // An earlier attempt has started it, whether it is still open or not: once is enough.
    workflowIdConflictPolicy: 'FAIL',
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    priority: fairlyFor(tenantId),
    staticSummary: summary,
  });
  return { kind: 'taken', detail: `workflow ${workflowId} was started` };
}

async function signal(
  client: Client,
  { tenantId, target, input }: WorkflowDispatch,
  to: { readonly workflowId: string; readonly name: string },
): Promise<WorkflowReport> {
  const { workflowId, name } = to;
  const other = await otherThan(client, workflowId, target);
  if (other !== null) {
    const detail = `workflow ${workflowId} runs as ${other}, which the target does not name`;
    return { kind: 'refused', detail, forGood: true };
  }
  await client.workflow.signalWithStart(target.workflowType, {
    ...{ workflowId, taskQueue: target.taskQueue, args: [] },
    ...{ signal: name, signalArgs: [input] },
    priority: fairlyFor(tenantId),
  });
  return { kind: 'taken', detail: `workflow ${workflowId} has the signal ${name}` };
}

/**
 * What runs under the id and is not what the deployment allows; null: nothing does. Whoever has started it
 * may have been somebody else.
 */
async function otherThan(
  client: Client,
  workflowId: string,
  { taskQueue, workflowType }: WorkflowDispatch['target'],
): Promise<string | null> {
  const running = await client.workflow
    .getHandle(workflowId)
    .describe()
    .catch((error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    });
  if (running?.status.name !== 'RUNNING') return null;
  if (running.type === workflowType && running.taskQueue === taskQueue) return null;
  return `${running.type} of the queue ${running.taskQueue}`;
}

function failure(error: unknown, workflowId: string): WorkflowReport {
  if (error instanceof WorkflowExecutionAlreadyStartedError) {
    return { kind: 'taken', detail: `workflow ${workflowId} was started before` };
  }
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const code = isGrpcServiceError(cause) ? cause.code : null;
  if (code !== null && FOR_GOOD.includes(code)) {
    const detail = `Temporal refuses the workflow ${workflowId} (gRPC status ${code})`;
    return { kind: 'refused', detail, forGood: true };
  }
  const detail = `Temporal did not answer for the workflow ${workflowId}`;
  return { kind: 'lost', detail: code === null ? detail : `${detail} (gRPC status ${code})` };
}
