/**
 * What a clone of the template holds before a test has used it, and how a used one is brought back to that:
 * a tenth of what it costs to drop one and clone another, which hundreds of tests need.
 */
import type { ClientBase } from 'pg';

/** The same for every clone of one template. Plain JSON: it comes to the test files by the environment. */
export interface FreshState {
  /** Changes with every change of a table, function, trigger or right: of anything but rows. */
  readonly catalog: string;
  /** The tables that have rows, with their rows as JSON. */
  readonly rows: readonly (readonly [table: string, rows: string])[];
  readonly sequences: readonly (readonly [sequence: string, value: string, called: boolean])[];
}

/** Each kept row of these catalogs names the transaction that wrote it; a clone's are its template's. */
const CATALOGS = [
  ...['pg_namespace', 'pg_class', 'pg_attribute', 'pg_attrdef', 'pg_constraint', 'pg_index'],
  ...['pg_proc', 'pg_type', 'pg_trigger', 'pg_rewrite', 'pg_policy', 'pg_default_acl'],
  ...['pg_description', 'pg_extension', 'pg_event_trigger'],
];

const CATALOG = `select md5(concat_ws('|', ${CATALOGS.map(
  (name) => `(select concat(count(*), ' ', sum(xmin::text::bigint)) from ${name})`,
).join(', ')})) as catalog`;

const TABLES = `select oid::regclass::text as name from pg_class
  where relnamespace = 'waybill'::regnamespace and relkind = 'r' order by oid`;

/** As a replica: neither triggers nor foreign keys. */
const EMPTY = `do $$
  declare used text;
  begin
    for used in select name from (${TABLES}) tables where pg_relation_size(name::regclass) > 0 loop
      execute 'delete from ' || used;
    end loop;
  end $$`;

/** Of a database that nobody has used since it was migrated. */
export async function readFreshState(client: ClientBase): Promise<FreshState> {
  const rows: [string, string][] = [];
  for (const { name } of (await client.query<{ name: string }>(TABLES)).rows) {
    const text = `select jsonb_agg(to_jsonb(t))::text as rows from ${name} t`;
    const held = (await client.query<{ rows: string | null }>(text)).rows[0]?.rows;
    if (typeof held === 'string') rows.push([name, held]);
  }
  const sequences = await client.query<{ name: string; value: string; called: boolean }>(
    `select format('%I.%I', schemaname, sequencename) as name, last_value is not null as called,
        coalesce(last_value, start_value)::text as value
      from pg_sequences where schemaname = 'waybill'`,
  );
  return {
    catalog: await catalogOf(client),
    rows,
    sequences: sequences.rows.map(({ name, value, called }) => [name, value, called]),
  };
}

/**
 * Brings a clone back to its fresh state, and ends the connections of whoever still uses it. False where
 * more than rows was changed: then it is of no more use.
 * @param client of a superuser, connected to the clone
 */
export async function refresh(client: ClientBase, fresh: FreshState): Promise<boolean> {
  await client.query('discard all');
  await client.query(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`,
  );
  if ((await catalogOf(client)) !== fresh.catalog) return false;
  await client.query(`begin; set local session_replication_role = replica; ${EMPTY}`);
  for (const [table, rows] of fresh.rows) {
    await client.query(
      `insert into ${table} overriding system value
        select * from jsonb_populate_recordset(null::${table}, $1)`,
      [rows],
    );
  }
  await client.query(
    `select setval(name::regclass, value, called)
      from unnest($1::text[], $2::bigint[], $3::boolean[]) as s(name, value, called)`,
    [0, 1, 2].map((nth) => fresh.sequences.map((sequence) => sequence[nth])),
  );
  await client.query('commit');
  return true;
}

async function catalogOf(client: ClientBase): Promise<string> {
  return (await client.query<{ catalog: string }>(CATALOG)).rows[0]?.catalog ?? '';
}
