/**
 * Who may write what, as Postgres tells it of every table that there is: a table that a migration adds
 * has to be placed here. Rows are what tenant-isolation tries; this is the whole of the rights.
 */
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const SERVING = ['waybill_data', 'waybill_lifecycle', 'waybill_operations', 'waybill_observer'];

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** Tables of which the role may change anything at all, with what it may do; columns where not all. */
async function writes(role: string): Promise<Record<string, string[]>> {
  const rows = await db.rows<{ table: string; rights: string[] }>(
    `select c.relname as table, array_agg(p order by p) as rights
      from pg_class c cross join unnest(array['insert', 'update', 'delete', 'truncate']) p
      where c.relnamespace = 'waybill'::regnamespace and c.relkind in ('r', 'v', 'm', 'p')
        and case when p in ('insert', 'update') then has_any_column_privilege($1, c.oid, p)
          else has_table_privilege($1, c.oid, p) end
      group by 1 order by 1`,
    [role],
  );
  return Object.fromEntries(rows.map(({ table, rights }) => [table, rights]));
}

async function columns(role: string, table: string): Promise<string[]> {
  const rows = await db.rows<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = $2::regclass and attnum > 0
      and not attisdropped and has_column_privilege($1, attrelid, attnum, 'update') order by 1`,
    [role, `waybill.${table}`],
  );
  return rows.map(({ name }) => name);
}

test('the catalog is written by control alone', async () => {
  const catalog = Object.keys(await writes('waybill_control'));
  expect(catalog).toEqual([
    ...['audit_log', 'bindings', 'capabilities', 'catalog_revision'],
    ...[
      'connection_reports',
      'connector_versions',
      'connectors',
      'credential_revisions',
      'event_sinks',
      'evidence_statements',
      'ingresses',
    ],
    ...[
      'instances',
      'outbox_events',
      'quota_policies',
      'replicas',
      'retired_ingresses',
      'settings',
      'subscriptions',
      'targets',
    ],
    'version_capabilities',
  ]);
  const shared: Record<string, string[]> = {};
  for (const role of SERVING) {
    const both = Object.keys(await writes(role)).filter((table) => catalog.includes(table));
    if (both.length > 0) shared[role] = both;
  }
  // Logs are written by whoever acts; of the others only what routing and hosts move.
  expect(shared).toEqual({
    waybill_data: ['audit_log', 'outbox_events', 'replicas', 'subscriptions'],
    waybill_lifecycle: ['replicas'],
    waybill_operations: [
      ...['audit_log', 'connector_versions', 'event_sinks', 'instances', 'outbox_events'],
      ...['replicas', 'settings', 'subscriptions'],
    ],
  });
});

test('of what the catalog shares, each role changes its own columns only', async () => {
  const routing = ['active_assignments', 'circuit_open_until', 'probes', 'unknown_failures'];
  expect(await columns('waybill_data', 'replicas')).toEqual(routing);
  expect(await columns('waybill_operations', 'settings')).toEqual(['recovering_since']);
  for (const table of ['subscriptions', 'instances', 'connector_versions']) {
    expect(await columns('waybill_operations', table)).toEqual(['wake_pending']);
  }
  const published = ['capacity', 'endpoint', 'peer_did', 'tenant_id', 'instance_id', 'version'];
  const upkeep = await columns('waybill_operations', 'replicas');
  expect(upkeep.filter((name) => published.includes(name))).toEqual([]);
  expect(await columns('waybill_operations', 'outbox_events')).toEqual(['feed_no']);
  const sinks = await columns('waybill_operations', 'event_sinks');
  expect(sinks.filter((name) => ['url', 'secret_refs', 'topics'].includes(name))).toEqual([]);
});

test('the data role deletes nothing, and the observer writes nothing', async () => {
  const data = Object.entries(await writes('waybill_data'));
  expect(data.filter(([, rights]) => rights.some((one) => one === 'delete'))).toEqual([]);
  expect(await writes('waybill_observer')).toEqual({});
});

test('what is kept as evidence is added to, and never changed by who adds', async () => {
  const kept = ['audit_log', 'outbox_events', 'receipts', 'retired_routes'];
  const data = await writes('waybill_data');
  expect(kept.map((table) => data[table])).toEqual(kept.map(() => ['insert']));
  expect((await writes('waybill_control'))['evidence_statements']).toEqual(['insert']);
  expect(data['action_tombstones']).toBeUndefined();
});
