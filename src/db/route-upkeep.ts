/** Upkeep of what routing has written, over a pool of role `waybill_operations`. */
import type { CounterDifference, RetainedBatch } from '../domain/upkeep';
import { CounterDifferenceRow, RetainedBatchRow } from '../schemas/upkeep-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

const difference = 'counter, tenant_id as "tenantId", scope, subject, recorded, counted';

export const routeUpkeepStatements = {
  retain: { name: 'upkeep_retain_actions', text: 'select waybill.retain_actions($1) as batch' },
  differences: {
    name: 'upkeep_counter_differences',
    text: `select ${difference} from waybill.counter_differences($1)
      order by counter, scope, subject`,
  },
  mend: {
    name: 'upkeep_mend_counters',
    text: `select ${difference} from waybill.mend_counters($1, $2)`,
  },
} as const satisfies Record<string, Statement>;

/** One batch of retention: at most `limit` actions, artifacts and tombstones. */
export async function retainActions(db: Database, limit: number): Promise<RetainedBatch> {
  const rows = await db.query(routeUpkeepStatements.retain, [limit]);
  return RetainedBatchRow.parse(onlyRow(rows)['batch']);
}

/** Counters that differ from the open attempts, as of one moment; at most `limit`. */
export async function counterDifferences(
  db: Database,
  limit: number,
): Promise<CounterDifference[]> {
  const rows = await db.query(routeUpkeepStatements.differences, [limit]);
  return rows.map((row) => CounterDifferenceRow.parse(row));
}

/** Mends at most `limit` counters that differ, with an audit line each; answers what they were. */
export async function mendCounters(
  db: Database,
  by: string,
  limit: number,
): Promise<CounterDifference[]> {
  const rows = await db.query(routeUpkeepStatements.mend, [by, limit]);
  return rows.map((row) => CounterDifferenceRow.parse(row));
}
