/** Makes sure that every bulk replay that is under way has a workflow. */
import type { Logger } from 'pino';
import { claimUnattendedReplays } from '../../db/bulk-replays';
import type { Database } from '../../db/database';
import { replayJobId, tenantId } from '../../domain/ids';
import type { BulkReplayWorkflows } from '../../temporal/bulk-replay-starter';
import { attendClaimed } from './attend-claimed';

/** A claimed job is due again after this, should its workflow not have taken it on. */
const CLAIM_MS = 5_000;

export interface AttendBulkReplaysOptions {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly workflows: BulkReplayWorkflows;
  readonly log: Logger;
}

/** One round; true when the batch was full. */
export async function attendBulkReplaysRound(options: AttendBulkReplaysOptions): Promise<boolean> {
  const { operations, workflows, log } = options;
  return await attendClaimed({
    claim: (limit) => claimUnattendedReplays(operations, limit, CLAIM_MS),
    attend: (row) =>
      workflows.nudge({ tenantId: tenantId(row.tenant_id), jobId: replayJobId(row.job_id) }),
    what: 'bulk replays',
    log,
  });
}
