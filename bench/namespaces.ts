/** The Temporal namespace of a run. */
import { randomBytes } from 'node:crypto';
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { temporalClient, temporalSettings } from '../src/temporal/connections';
import { registerSearchAttributes } from '../src/temporal/search-attributes';
import { pollUntil } from '../src/workers/embedded/poll';
import type { Closers } from '../src/workers/closers';

type Status = 'Running' | 'Completed';

export interface BenchNamespace {
  readonly client: Client;
  readonly namespace: string;
  /** Workflows of a task queue, by whether they run or have completed. */
  count(taskQueue: string, status: Status): Promise<number>;
  /** Those of a task queue that have completed. */
  completed(taskQueue: string): AsyncIterable<WorkflowExecutionInfo>;
}

const READY_PATIENCE_MS = 60_000;

/**
 * The namespace that benchmarks use; on a server that belongs to somebody else a new one, deleted
 * with all its workflows when the run is over. From here on the environment names it.
 */
export async function useNamespace(isGiven: boolean, closers: Closers): Promise<BenchNamespace> {
  if (isGiven) {
    process.env['TEMPORAL_NAMESPACE'] = `waybill-bench-${randomBytes(6).toString('hex')}`;
  }
  const { namespace } = temporalSettings();
  const temporal = temporalClient();
  const { client, connection } = temporal;
  closers.add(() => temporal.close());
  if (isGiven) {
    await client.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    closers.add(() => connection.operatorService.deleteNamespace({ namespace }));
  }
  const count = async (query: string): Promise<number> =>
    (await client.workflow.count(query)).count;
  // A new namespace is known to the whole server only after a while.
  const known = await pollUntil(() => succeeds(() => count('')), {
    timeoutMs: READY_PATIENCE_MS,
    intervalMs: 200,
  });
  if (!known) throw new Error(`the Temporal namespace ${namespace} cannot be used`);
  await registerSearchAttributes(connection, namespace);
  return {
    client,
    namespace,
    count: (taskQueue, status) => count(queryOf(taskQueue, status)),
    completed: (taskQueue) => client.workflow.list({ query: queryOf(taskQueue, 'Completed') }),
  };
}

function queryOf(taskQueue: string, status: Status): string {
  return `TaskQueue = '${taskQueue}' AND ExecutionStatus = '${status}'`;
}

async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch {
    return false;
  }
}
