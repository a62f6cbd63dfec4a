/**
 * Removing what is left of bulk replays that are over (docs/architecture, "Retention"): first what
 * they had planned, later the job with its signed statement.
 */
import { bulkReplayTenants, retainBulkReplays } from '../db/bulk-replay-retention';
import type { Database } from '../db/database';
import type { RetainedReplays } from '../domain/upkeep';
import { point } from '../points';
import { forTenants, inBatches } from './batches';

/** Rows that are thin, and that nobody writes any more. */
const BATCH = 1_000;

/** @param operations role waybill_operations */
export async function retainReplays(
  operations: Database,
  signal: AbortSignal,
): Promise<RetainedReplays & { readonly more: boolean }> {
  const total = { replayItems: 0, replays: 0 };
  const more = await forTenants(
    (after, limit) => bulkReplayTenants(operations, after, limit),
    signal,
    (tenant) =>
      inBatches(signal, async () => {
        const gone = await retainBulkReplays(operations, { tenant, limit: BATCH });
        total.replayItems += gone.items;
        total.replays += gone.jobs;
        await point('retention.replays');
        return gone.more;
      }),
  );
  return { ...total, more };
}
