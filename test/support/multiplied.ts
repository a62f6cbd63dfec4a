/** Thousands of rows of one, for tests of what reading costs where there is much. */
import type { TestDatabase } from './test-database';

/** SQL for some columns of the copies; `n` is the number of the copy, from 0. */
export type Changed = Readonly<Record<string, string>>;

/**
 * Copies the rows of a table for which `which` holds. Triggers and foreign keys stay off for the
 * administrator, since thousands of rows cannot be lived through one by one. By columns: made from JSON a
 * row costs ten times as much.
 */
export async function multiply(
  db: TestDatabase,
  table: string,
  { which, count, changed }: { which: string; count: number; changed: Changed },
): Promise<void> {
  const columns = await db.rows<{ name: string; type: string }>(
    `select quote_ident(attname) as name, format_type(atttypid, atttypmod) as type from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  );
  const unknown = Object.keys(changed).filter((name) => !columns.some((one) => one.name === name));
  if (unknown.length > 0) throw new Error(`${table} has no column ${unknown.join(', ')}`);
  const values = columns.map(({ name, type }) => {
    const sql = changed[name];
    return sql === undefined ? `x.${name}` : `(${sql})::${type}`;
  });
  await db.rows('set session_replication_role = replica');
  await db.rows(
    `insert into ${table} (${columns.map(({ name }) => name).join(', ')})
      select ${values.join(', ')} from ${table} x, generate_series(0, ${count - 1}) n where ${which}`,
  );
}
