/** Many rows like one that the product has written: copies of it under other names. */
import { Client } from 'pg';

export interface Copies {
  readonly table: string;
  /** SQL for the numbers that the copies are made for, for example `generate_series(1, 9) n`. */
  readonly of: string;
  /** SQL for each column that differs from the row copied, which is `x`. */
  readonly set: Readonly<Record<string, string>>;
  /** Which row is copied; the only one, where this is absent. */
  readonly from?: string;
}

/** As many as a small machine has cores. */
const AT_ONCE = 2;

/**
 * Makes the copies, in this order for each table, without triggers and foreign keys: the row that is
 * copied has passed them, and millions cannot be lived through one by one. Checks hold; the indexes of
 * these tables are built anew afterwards.
 * @param url of an administrator who may set catalogs right
 */
export async function copyRows(url: string, copies: readonly Copies[]): Promise<void> {
  const tables = new Map<string, Copies[]>();
  for (const copy of copies) tables.set(copy.table, [...(tables.get(copy.table) ?? []), copy]);
  const waiting = tables.entries();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      const client = new Client({ connectionString: url, application_name: 'waybill-bench' });
      await client.connect();
      try {
        await client.query(`set session_replication_role = replica`);
        await client.query(`set maintenance_work_mem = '512MB'`);
        for (const [table, ofTable] of waiting) await fill(client, table, ofTable);
      } finally {
        await client.end();
      }
    }),
  );
}

async function fill(client: Client, table: string, copies: readonly Copies[]): Promise<void> {
  const columns = await storedColumns(client, table);
  await client.query('begin');
  await client.query(
    `update pg_index set indisready = false, indisvalid = false
      where indrelid = 'waybill.${table}'::regclass`,
  );
  await client.query('commit');
  for (const { of, set, from = 'true' } of copies) {
    const values = columns.map((column) => set[column] ?? `x.${column}`);
    await client.query(
      `insert into waybill.${table} (${columns.join(', ')})
        select ${values.join(', ')}
          from (select * from waybill.${table} x where ${from} limit 1) x, ${of}`,
    );
  }
  await client.query(`reindex table waybill.${table}`);
}

/** Those that can be written. */
async function storedColumns(client: Client, table: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select attname::text as name from pg_attribute where attrelid = ('waybill.' || $1)::regclass
      and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [table],
  );
  return rows.map(({ name }) => name);
}
