/**
 * What the reads for people and programs share. Each is one tenant's: the transaction's own tenant is
 * set first, so that row-level security shows nothing else whatever the statement says.
 */
import type { TenantId } from '../domain/ids';
import type { Database, Run, Statement } from './database';

export const listStatements = {
  // Planned with its values each time: a plan for any filters would have to read the whole tenant.
  enterTenant: {
    name: 'list_tenant',
    text: `select set_config('waybill.tenant', $1, true),
      set_config('plan_cache_mode', 'force_custom_plan', true)`,
  },
} as const satisfies Record<string, Statement>;

/** The place in a list of actions from which a page goes on: the last row of the page before. */
export interface ActionPlace {
  /** When it began, in microseconds, exactly as the row showed it. */
  readonly at: string;
  readonly actionId: string;
}

/** Reads in one transaction of that tenant. */
export async function readAsTenant<Result>(
  db: Database,
  tenantId: TenantId,
  read: (run: Run) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (run) => {
    await run(listStatements.enterTenant, [tenantId]);
    return read(run);
  });
}

/** A number that no single thing reaches, so that an answer stays bounded. */
const MAX_ENTRIES = 1000;

/** SQL for the newest entries as a JSON array, oldest of them first. */
export function newest(
  position: string,
  order: string,
  from: { readonly columns: string; readonly source: string },
): string {
  return `(select coalesce(jsonb_agg(to_jsonb(e) order by e.${position}), '[]'::jsonb)
    from (select ${from.columns} from ${from.source}
      order by ${order} desc limit ${MAX_ENTRIES}) e)`;
}

/** SQL for an instant in UTC with all its microseconds, whatever the session's time zone. */
export function utc(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

/**
 * SQL that a list goes on where the page before ended. By value, so that the row itself may be gone by
 * now. Never as a comparison of rows: beside another bound on the instant Postgres would enter the index
 * at that one, and read all newer rows again.
 */
export function goesOn(
  columns: { readonly at: string; readonly id: string },
  first: number,
): string {
  const { at, id } = columns;
  return `${at} <= coalesce($${first}::timestamptz, 'infinity')
    and ($${first}::timestamptz is null
      or ${at} < $${first}::timestamptz or ${id} < $${first + 1}::text)`;
}
