/**
 * The migrated schema as one stable text, read from the catalogs, the same on every supported Postgres.
 * It is for reviewing what a migration changes; it is not meant to be run.
 */

/** A line of the text and what it belongs to: a table, a function. */
export interface SchemaLine {
  readonly owner: string;
  readonly line: string;
}

type Ask = (text: string) => Promise<SchemaLine[]>;

const HEADER = `-- The schema that migrations/ builds, for reading; generated, do not edit.
-- Once a migration has changed it: UPDATE_SNAPSHOT=1 npx jest test/db/schema-snapshot
`;

const SCHEMA = `'waybill'::regnamespace`;

const COLUMNS = `select c.relname as owner,
    format('  %I %s%s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
      case when a.attnotnull then ' not null' else '' end,
      case a.attidentity when 'a' then ' generated always as identity' else '' end,
      coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')) as line
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
  where c.relnamespace = ${SCHEMA} and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
  order by c.relname, a.attnum`;

// Since Postgres 18 not-null constraints are listed too; the columns already say so.
const CONSTRAINTS = `select c.relname as owner,
    format('  constraint %I %s', k.conname, pg_get_constraintdef(k.oid)) as line
  from pg_constraint k join pg_class c on c.oid = k.conrelid
  where k.connamespace = ${SCHEMA} and k.contype in ('p', 'u', 'f', 'c')
  order by c.relname, k.contype <> 'p', k.conname`;

const OPTIONS = `select relname as owner, '  with (' || array_to_string(reloptions, ', ') || ')' as line
  from pg_class where relnamespace = ${SCHEMA} and relkind = 'r' and reloptions is not null
  order by relname`;

const INDEXES = `select c.relname as owner, '  ' || pg_get_indexdef(i.indexrelid) as line
  from pg_index i join pg_class c on c.oid = i.indrelid
  where c.relnamespace = ${SCHEMA}
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid
      and k.contype in ('p', 'u'))
  order by c.relname, i.indexrelid::regclass::text collate "C"`;

const TRIGGERS = `select c.relname as owner, '  ' || pg_get_triggerdef(t.oid) as line
  from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where c.relnamespace = ${SCHEMA} and not t.tgisinternal order by c.relname, t.tgname`;

const POLICIES = `select tablename as owner,
    format('  policy %I for %s to %s%s%s', policyname, lower(cmd), array_to_string(roles, ', '),
      regexp_replace(coalesce(' using ' || qual, ''), '\\s+', ' ', 'g'),
      regexp_replace(coalesce(' with check ' || with_check, ''), '\\s+', ' ', 'g')) as line
  from pg_policies where schemaname = 'waybill' order by tablename, policyname`;

const ROW_SECURITY = `select relname as owner, '  row level security' as line
  from pg_class where relnamespace = ${SCHEMA} and relkind = 'r' and relrowsecurity
  order by relname`;

const TABLE_GRANTS = grants({
  of: 'c.relname',
  from: 'pg_class c',
  acl: 'c.relacl',
  owner: 'c.relowner',
  where: `c.relnamespace = ${SCHEMA} and c.relkind = 'r'`,
});

const COLUMN_GRANTS = `select c.relname as owner,
    format('  grant %s (%s) to %s', lower(x.privilege_type),
      string_agg(a.attname, ', ' order by a.attnum), x.grantee::regrole) as line
  from pg_class c join pg_attribute a on a.attrelid = c.oid
  cross join aclexplode(a.attacl) x
  where c.relnamespace = ${SCHEMA} and x.grantee <> c.relowner
  group by c.relname, x.privilege_type, x.grantee
  order by c.relname, x.privilege_type, x.grantee::regrole::text collate "C"`;

const FUNCTIONS = `select p.oid::regprocedure::text as owner,
    format('function %I(%s) returns %s, %s, %s%s', p.proname,
      pg_get_function_identity_arguments(p.oid), pg_get_function_result(p.oid), l.lanname,
      case p.provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
      case when p.prosecdef then ', security definer' else '' end) as line
  from pg_proc p join pg_language l on l.oid = p.prolang
  where p.pronamespace = ${SCHEMA}
  order by p.proname, pg_get_function_identity_arguments(p.oid) collate "C"`;

const FUNCTION_GRANTS = grants({
  of: 'c.oid::regprocedure::text',
  from: 'pg_proc c',
  acl: 'c.proacl',
  owner: 'c.proowner',
  where: `c.pronamespace = ${SCHEMA}`,
});

const SCHEMA_GRANTS = grants({
  of: 'c.nspname',
  from: 'pg_namespace c',
  acl: 'c.nspacl',
  owner: 'c.nspowner',
  where: `c.nspname = 'waybill'`,
});

const TABLE_PARTS = [
  ...[COLUMNS, CONSTRAINTS, OPTIONS, INDEXES, TRIGGERS],
  ...[ROW_SECURITY, POLICIES, TABLE_GRANTS, COLUMN_GRANTS],
];

export async function schemaSnapshot(ask: Ask): Promise<string> {
  const tables = await ask(
    `select relname as owner, 'table ' || relname as line from pg_class
      where relnamespace = ${SCHEMA} and relkind = 'r' order by relname`,
  );
  const parts: ((owner: string) => string[])[] = [];
  for (const text of TABLE_PARTS) parts.push(linesOf(await ask(text)));
  const functions = await ask(FUNCTIONS);
  const functionGrants = linesOf(await ask(FUNCTION_GRANTS));
  const schemaGrants = linesOf(await ask(SCHEMA_GRANTS));
  const blocks = [
    ['schema waybill', ...schemaGrants('waybill')],
    ...tables.map(({ owner, line }) => [line, ...parts.flatMap((part) => part(owner))]),
    ...functions.map(({ owner, line }) => [line, ...functionGrants(owner)]),
  ];
  return `${HEADER}\n${blocks.map((block) => block.join('\n')).join('\n\n')}\n`;
}

function linesOf(rows: readonly SchemaLine[]): (owner: string) => string[] {
  return (owner) => rows.filter((row) => row.owner === owner).map((row) => row.line);
}

interface Acl {
  readonly of: string;
  readonly from: string;
  readonly acl: string;
  readonly owner: string;
  readonly where: string;
}

/** What each role but the owner may do, one line a role. */
function grants({ of, from, acl, owner, where }: Acl): string {
  return `select ${of} as owner,
      format('  grant %s to %s',
        string_agg(lower(x.privilege_type), ', ' order by x.privilege_type),
        case x.grantee when 0 then 'public' else x.grantee::regrole::text end) as line
    from ${from} cross join aclexplode(${acl}) x
    where ${where} and x.grantee <> ${owner}
    group by ${of}, x.grantee order by ${of}, x.grantee::regrole::text collate "C"`;
}
