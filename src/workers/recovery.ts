/** `waybill recover --after-restore`: the database and what Temporal remembers, put together. */
import type { Connection } from '@temporalio/client';
import type { Database } from '../db/database';
import { WaybillError } from '../domain/errors';
import type { Config } from '../schemas/config';
import { recoverAfterRestore, type RecoveryReport } from '../services/recovery';
import { actionArchive } from '../temporal/action-archive';
import { temporalClient, temporalSettings } from '../temporal/connections';
import { taskQueue } from './workflows';

const ANSWER_MS = 10_000;

/**
 * @param by who asks for it, for the audit log
 * @throws WaybillError `storage_unavailable`, `temporal_unreachable`
 */
export async function recoverDeployment(
  parts: { readonly operations: Database; readonly config: Config },
  by: string,
): Promise<RecoveryReport> {
  const temporal = temporalClient();
  try {
    // Before anything is held: without its memory nothing can be compared.
    await requireNamespace(temporal.connection);
    const archive = actionArchive(temporal.client, taskQueue(parts.config, 'actions'));
    return await recoverAfterRestore({ operations: parts.operations, archive }, by);
  } finally {
    await temporal.close();
  }
}

async function requireNamespace(connection: Connection): Promise<void> {
  const { address, namespace } = temporalSettings();
  try {
    await connection.withDeadline(Date.now() + ANSWER_MS, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
  } catch (error) {
    throw new WaybillError(
      'temporal_unreachable',
      `no Temporal server at ${address} answers for the namespace ${namespace}; see TEMPORAL_ADDRESS`,
      { cause: error },
    );
  }
}
