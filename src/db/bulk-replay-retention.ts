/** Retention of bulk replays, over a pool of role `waybill_operations`. One batch a statement. */
import { RetainedReplaysBatch } from '../schemas/bulk-replay-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const bulkReplayRetentionStatements = {
  tenants: {
    name: 'retention_replay_tenants',
    text: 'select tenant from waybill.replay_tenants($1, $2) tenant',
  },
  retain: {
    name: 'retention_replays',
    text: 'select waybill.retain_replays($1, $2) as gone',
  },
} as const satisfies Record<string, Statement>;

/** Tenants after this one that have bulk replays, in order; '' begins. */
export async function bulkReplayTenants(
  db: Database,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await db.query(bulkReplayRetentionStatements.tenants, [after, limit]);
  return rows.map((row) => String(row['tenant']));
}

/** Removes what is left of the tenant's jobs whose time is over, at most `limit` rows of a kind. */
export async function retainBulkReplays(
  db: Database,
  { tenant, limit }: { readonly tenant: string; readonly limit: number },
): Promise<RetainedReplaysBatch> {
  const rows = await db.query(bulkReplayRetentionStatements.retain, [tenant, limit]);
  return RetainedReplaysBatch.parse(onlyRow(rows)['gone']);
}
