/**
 * Tenant isolation and role separation in a real Postgres. Two tenants have rows in every table; the
 * roles that Waybill runs as try what they must not see or do.
 */
import type { Database, Row } from '../../src/db/database';
import { ingestDelivery, readDeliveryFacts } from '../../src/db/deliveries';
import { tenantId } from '../../src/domain/ids';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase, testPool } from '../support/test-database';
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { fillBulkReplay } from '../support/bulk-replays';
import { fillApproval, fillCertification, fillRouting } from '../support/routing-rows';
import { failedDelivery, verifiedRequest } from '../support/stored-deliveries';

const ROLES = ['control', 'data', 'lifecycle', 'operations', 'observer'].map(
  (name) => `waybill_${name}`,
);
const DENIED = { code: '42501' };

let db: TestDatabase;
let acme: CatalogFixture;
let globex: CatalogFixture;
let tenantTables: string[];

beforeAll(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
  globex = await insertCatalog(db, { tenant: 'globex' });
  for (const fixture of [acme, globex]) await fill(fixture);
  await db.rows(
    `insert into waybill.evidence_statements select connector_id || '-sbom', connector_id, version,
        'sbom', repeat('a', 64), null, repeat('c', 64), null, 'pass', 'key', now(), null, 'jws'
      from waybill.connector_versions`,
  );
  const rows = await db.rows<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'waybill'::regnamespace and c.relkind = 'r' and a.attname = 'tenant_id'
      order by 1`,
  );
  tenantTables = rows.map(({ name }) => name);
});
afterAll(() => db.drop());

/** Puts rows of the fixture's tenant into every table that has none of its catalog. */
async function fill(fixture: CatalogFixture): Promise<void> {
  const { ref } = await failedDelivery(db, fixture);
  const { tenant } = fixture;
  const signed = { freshness: { signedAtMs: 0, toleranceMs: 1, aheadMs: 1 } };
  await ingestDelivery(db.as('waybill_data'), verifiedRequest(fixture, signed));
  const inserts = [
    `gate_turns values ($1, 'target/pushes-target', now())`,
    `receipt_checkpoints values ($1, 1, 'chains', 'jws', repeat('0', 64))`,
    `checkpoint_leaves values ($1, 1, 0, 'action/x', 1, 'digest')`,
    `payload_marks values ($1, 'Failed', now())`,
    `event_sinks values ($1, 'sink', 'https://sink.test/', 1000, '{*}', '{env:X}', 'active', null, 0)`,
    `event_sink_parked values ($1, 'sink', $1, 'delivery/x', 1, 1, now(), 'event_refused', null)`,
    `event_horizons values ($1, 0)`,
    `idempotency_keys values ($1, 'ada', 'replay', 'k1', sha256(''), 1, gen_random_uuid(), now(), null, null, now(), now())`,
    `retired_ingresses values ('old-' || $1, $1, 'pushes', now())`,
    `connection_reports values ($1, 'main', 1, 'enabled', 'urn:test', 'e1', now())`,
    `audit_log (tenant_id, actor, action, subject) values ($1, 'ada', 'read', 'all')`,
  ];
  for (const insert of inserts) await db.rows(`insert into waybill.${insert}`, [tenant]);
  await fillBulkReplay(db, tenant, ref.deliveryId);
  await fillRouting(db, tenant);
  await fillApproval(db, tenant);
  await fillCertification(db, tenant);
}

/** Runs one query in a transaction of the tenant (null: of none). */
function asTenant(
  pool: Database,
  tenant: string | null,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return pool.transaction(async (run) => {
    if (tenant !== null) {
      const setTenant = `select set_config('waybill.tenant', $1, true)`;
      await run({ name: 'test_tenant', text: setTenant }, [tenant]);
    }
    return run({ name: '', text }, values);
  });
}

async function readable(role: string): Promise<string[]> {
  const rows = await db.rows<{ name: string }>(
    `select name from unnest($1::text[]) as name
      where has_table_privilege($2, 'waybill.' || name, 'select')`,
    [tenantTables, role],
  );
  return rows.map(({ name }) => name);
}

describe('the roles', () => {
  test('are neither superusers nor above row security, own nothing and cannot become the owner', async () => {
    const rows = await db.rows(
      `select r.rolname as role from pg_roles r where r.rolname = any ($1)
        and not r.rolsuper and not r.rolbypassrls and not r.rolcreaterole and not r.rolcanlogin
        and not pg_has_role(r.rolname, 'waybill_owner', 'member')
        and not exists (select from pg_class c where c.relowner = r.oid)`,
      [ROLES],
    );
    expect(rows).toHaveLength(ROLES.length);
    const owner = await db.rows(
      `select from pg_roles where rolname = 'waybill_owner' and (rolsuper or rolbypassrls)`,
    );
    expect(owner).toHaveLength(0);
  });

  test('are what the pools of these tests run as', async () => {
    for (const role of ['waybill_data', 'waybill_control', 'waybill_observer'] as const) {
      const text = `select current_user as role, rolsuper or rolbypassrls as powerful
        from pg_roles where rolname = current_user`;
      expect(await asTenant(db.as(role), null, text)).toEqual([{ role, powerful: false }]);
    }
  });
});

describe('a tenant', () => {
  test('has row-level security on every table that holds its rows', async () => {
    expect(tenantTables.length).toBeGreaterThan(15);
    const open = await db.rows(
      `select relname from pg_class where relnamespace = 'waybill'::regnamespace
        and relname = any ($1) and not relrowsecurity`,
      [tenantTables],
    );
    expect(open).toEqual([]);
  });

  test('both tenants of these tests have rows in each of them', async () => {
    for (const table of tenantTables) {
      const [row] = await db.rows<{ tenants: string[] }>(
        `select array_agg(distinct tenant_id order by tenant_id) as tenants from waybill.${table}
          where tenant_id is not null`,
      );
      expect([table, row?.tenants]).toEqual([table, ['acme', 'globex']]);
    }
  });

  test.each(['waybill_data', 'waybill_observer'] as const)(
    'as %s sees its own rows only, and with none set nothing, on one connection in turn',
    async (role) => {
      const pool = testPool(db.url, role, { maxConnections: 1 });
      const tables = await readable(role);
      expect(tables).toContain('deliveries');
      for (const table of tables) {
        const text = `select distinct tenant_id as tenant from waybill.${table}`;
        const seen = [];
        for (const tenant of ['acme', null, 'globex', 'initech']) {
          seen.push(await asTenant(pool, tenant, text));
        }
        const expected = [[{ tenant: 'acme' }], [], [{ tenant: 'globex' }], []];
        expect([table, seen]).toEqual([table, expected]);
      }
      await pool.close();
    },
  );

  test.each(['waybill_data', 'waybill_observer'] as const)(
    'as %s sees the platform’s connectors and its own, with versions and evidence',
    async (role) => {
      for (const table of ['connectors', 'connector_versions', 'evidence_statements']) {
        const text = `select connector_id as id from waybill.${table} order by 1`;
        const seen = await asTenant(db.as(role), 'acme', text);
        expect(seen).toEqual([{ id: 'acme-own' }, { id: 'github' }]);
        expect(await asTenant(db.as(role), null, text)).toEqual([{ id: 'github' }]);
      }
    },
  );

  test('a tenant that a function set does not outlive its transaction', async () => {
    const pool = testPool(db.url, 'waybill_data', { maxConnections: 1 });
    const request = verifiedRequest(acme);
    await ingestDelivery(pool, request);
    expect(await asTenant(pool, null, 'select from waybill.deliveries')).toEqual([]);
    const foreign = { tenantId: tenantId('globex'), deliveryId: request.deliveryId };
    expect(await readDeliveryFacts(pool, foreign)).toBeNull();
    expect(await asTenant(pool, null, 'select from waybill.deliveries')).toEqual([]);
    await pool.close();
  });

  test('cannot write rows into another one, nor change what is there', async () => {
    const data = db.as('waybill_data');
    const insert = `insert into waybill.audit_log (tenant_id, actor, action, subject)
      values ('acme', 'eve', 'forge', 'x')`;
    await expect(asTenant(data, 'globex', insert)).rejects.toMatchObject(DENIED);
    const update = `update waybill.deliveries set detail = 'mine' returning tenant_id as tenant`;
    const changed = await asTenant(data, 'globex', update);
    expect(new Set(changed.map((row) => row['tenant']))).toEqual(new Set(['globex']));
    const move = `update waybill.deliveries set tenant_id = 'acme'`;
    await expect(asTenant(data, 'globex', move)).rejects.toMatchObject(DENIED);
  });
});

describe('what a role may not do', () => {
  /** One statement of each kind that would change the table. */
  async function writes(table: string): Promise<string[]> {
    const [row] = await db.rows<{ column: string }>(
      `select attname as column from pg_attribute
        where attrelid = $1::regclass and attnum > 0 and attidentity = '' order by attnum limit 1`,
      [`waybill.${table}`],
    );
    const column = row?.column ?? '';
    return [
      `insert into waybill.${table} default values`,
      `update waybill.${table} set ${column} = ${column}`,
      `delete from waybill.${table}`,
      `truncate waybill.${table}`,
    ];
  }

  test.each([
    ...['settings', 'catalog_revision', 'connectors', 'connector_versions', 'instances'],
    ...['targets', 'subscriptions', 'ingresses', 'capabilities', 'version_capabilities'],
    ...['evidence_statements', 'credential_revisions', 'quota_policies', 'bindings'],
    ...['lifecycle_requests', 'schema_version'],
  ])('the data role cannot write %s', async (table) => {
    for (const text of await writes(table)) {
      await expect(asTenant(db.as('waybill_data'), 'acme', text)).rejects.toMatchObject(DENIED);
    }
  });

  test('of a subscription the data role changes its pause only', async () => {
    const data = db.as('waybill_data');
    const pause = `update waybill.subscriptions set state = 'active', pause_reason = null`;
    await asTenant(data, 'acme', pause);
    const redirect = `update waybill.subscriptions set target_id = target_id`;
    await expect(asTenant(data, 'acme', redirect)).rejects.toMatchObject(DENIED);
  });

  test.each(['deliveries', 'receipts', 'actions', 'routes', 'route_attempts', 'quota_counters'])(
    'the data role keeps its evidence: it deletes no %s',
    async (table) => {
      const text = `delete from waybill.${table}`;
      await expect(asTenant(db.as('waybill_data'), 'acme', text)).rejects.toMatchObject(DENIED);
    },
  );

  test('the observer cannot write anything, nor call what writes', async () => {
    const tables = await db.rows<{ name: string }>(
      `select relname as name from pg_class
        where relnamespace = 'waybill'::regnamespace and relkind = 'r'`,
    );
    for (const { name } of tables) {
      for (const text of await writes(name)) {
        const done = asTenant(db.as('waybill_observer'), 'acme', text);
        await expect(done).rejects.toMatchObject(DENIED);
      }
    }
    const callable = await db.rows(
      `select proname as name from pg_proc where pronamespace = 'waybill'::regnamespace
        and has_function_privilege('waybill_observer', oid, 'execute')`,
    );
    expect(callable).toEqual([{ name: 'current_tenant' }]);
  });

  test.each([
    ...[
      'deliveries',
      'delivery_attempts',
      'artifacts',
      'receipts',
      'dedup_keys',
      'rejected_payloads',
    ],
    ...['idempotency_keys', 'outbox_events', 'audit_log', 'actions', 'routes', 'route_attempts'],
  ])('the control role cannot read %s', async (table) => {
    const text = `select from waybill.${table}`;
    await expect(asTenant(db.as('waybill_control'), null, text)).rejects.toMatchObject(DENIED);
  });

  test('the lifecycle role has replicas, the answers to their hosts, and settings to read', async () => {
    const rows = await db.rows(
      `select relname as name from pg_class where relnamespace = 'waybill'::regnamespace
          and relkind = 'r' and relname <> 'schema_version'
          and has_table_privilege('waybill_lifecycle', oid, 'select, insert, update, delete')
        order by 1`,
    );
    const names = ['lifecycle_requests', 'replicas', 'settings'];
    expect(rows).toEqual(names.map((name) => ({ name })));
  });

  test('no role that serves a tenant changes whose a replica is, or counters shared by tenants', async () => {
    const data = db.as('waybill_data');
    const steal = `update waybill.replicas set endpoint = endpoint`;
    await expect(asTenant(data, 'acme', steal)).rejects.toMatchObject(DENIED);
    const shared = `update waybill.quota_counters set held = 0 where scope = 'global' returning held`;
    expect(await asTenant(data, 'acme', shared)).toEqual([]);
    const foreign = `select waybill.take_shared_quota('tenant', 'globex', 1) as taken`;
    expect(await asTenant(data, 'acme', foreign)).toEqual([{ taken: null }]);
  });

  test('the data role asks for one ingress by its reference and cannot list them', async () => {
    const data = db.as('waybill_data');
    const list = 'select from waybill.ingresses';
    await expect(asTenant(data, 'acme', list)).rejects.toMatchObject(DENIED);
  });
});
