/**
 * Reading the catalog in a real Postgres, as the role waybill_data: bounds of a page, one revision
 * while somebody publishes, and the fence of a plan. An administrator fills the catalog of two tenants.
 */
import { randomUUID } from 'node:crypto';
import { actionLedger } from '../../src/db/actions';
import { capabilityListStatements } from '../../src/db/capability-lists';
import { capabilityCatalog } from '../../src/db/capabilities';
import { tenantId } from '../../src/domain/ids';
import type { CapabilityPageRequest } from '../../src/domain/registry-ports';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { explain } from '../support/explaining';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

/** Of each of 60 tenants. */
const INSTANCES = 20;
/** A row joins a binding's chain, some tens of blocks; an id that is passed over takes about six. */
const MOST_BLOCKS = 6_000;

let db: TestDatabase;
afterEach(() => db.drop());

const ACME = tenantId('acme');

function page(wanted: Partial<CapabilityPageRequest> = {}) {
  const any = { search: null, capabilityId: null, interfaceName: null, profile: null };
  return capabilityCatalog(db.as('waybill_data')).page({
    ...{ ...any, tenantId: ACME, unbound: false, after: null, limit: 200, ...wanted },
  });
}

async function found(wanted: Partial<CapabilityPageRequest> = {}) {
  const answer = await page(wanted);
  if (answer.kind !== 'page') throw new Error(answer.kind);
  return answer;
}

async function account(): Promise<Rig> {
  db = await createTestDatabase();
  const rig = new Rig(postgresFixture(db));
  await rig.account();
  return rig;
}

/** Capabilities c-0001 … of the tracker, bound to the account where that is said. */
async function offer(count: number, { bytes = 0, bound = true } = {}): Promise<void> {
  await db.rows(
    `with made as (
      insert into waybill.capabilities (capability_id, interface_name, side_effect, recovery,
          request_schema, result_schema, contract_digest)
        select 'c-' || lpad(n::text, 4, '0'), 'many', 'read', 'lookup',
          jsonb_build_object('title', repeat('x', $2)), '{}', repeat('0', 64)
        from generate_series(1, $1) n returning capability_id),
      offered as (insert into waybill.version_capabilities
        select 'tracker', '1.0.0', capability_id from made returning capability_id)
    insert into waybill.bindings (tenant_id, capability_id, instance_id, credential_revision)
      select 'acme', capability_id, 'main', 'r1' from offered where $3`,
    [count, bytes, bound],
  );
}

describe('a page', () => {
  test('holds at most 4 MiB, and the pages together hold everything once', async () => {
    await account();
    await offer(40, { bytes: 200_000 });
    const sizes: number[] = [];
    const ids: string[] = [];
    for (let next: string | null = ''; next !== null;) {
      const after = next === '' ? null : { revision: 0, capabilityId: next };
      const answer = await found({ after });
      sizes.push(Buffer.byteLength(JSON.stringify(answer.capabilities)));
      ids.push(...answer.capabilities.map(({ capabilityId }) => capabilityId));
      next = answer.next;
    }
    expect(sizes).toHaveLength(2);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(Math.max(...sizes)).toBeGreaterThan(3_900_000);
    expect(ids).toHaveLength(41);
    expect(new Set(ids).size).toBe(41);
  });

  test('looks at 1,000 ids at most: it may be empty, and goes on', async () => {
    await account();
    await offer(1_500);
    const first = await found({ interfaceName: 'work-items' });
    expect(first).toMatchObject({ capabilities: [], next: 'c-1000' });
    const after = { revision: 0, capabilityId: 'c-1000' };
    const second = await found({ interfaceName: 'work-items', after });
    expect(second).toMatchObject({ capabilities: [{ capabilityId: CAPABILITY }], next: null });
  });

  test('shows no binding of an instance that is not the tenant’s own', async () => {
    const rig = await account();
    await rig.account({ tenant: 'globex', instance: 'theirs' });
    const bind = () =>
      db.rows(
        `insert into waybill.bindings (tenant_id, capability_id, instance_id, credential_revision)
          values ('initech', $1, 'theirs', 'r1')`,
        [CAPABILITY],
      );
    await expect(bind()).rejects.toMatchObject({ code: '23503' });
    // As if the constraint had not been there.
    await db.rows('set session_replication_role = replica');
    await bind();
    expect((await found({ tenantId: tenantId('globex') })).capabilities).toHaveLength(1);
    expect((await found({ tenantId: tenantId('initech') })).capabilities).toEqual([]);
  });

  test('shows a tenant’s own connector to nobody else, bound or not', async () => {
    const rig = await account();
    await db.rows(`update waybill.connectors set owner_tenant_id = 'acme'`);
    await rig.account({ tenant: 'globex', instance: 'theirs' });
    const globex = tenantId('globex');
    expect((await found({ unbound: true })).capabilities).toHaveLength(1);
    expect((await found({ tenantId: globex })).capabilities).toEqual([]);
    expect((await found({ tenantId: globex, unbound: true })).capabilities).toEqual([]);
    expect((await found({ tenantId: null, unbound: true })).capabilities).toEqual([]);
  });
});

describe('while somebody publishes', () => {
  /** Until this many of the database's backends wait for a lock. */
  const waiting = () =>
    until('a backend that waits for a lock', async () => {
      const rows = await db.rows(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length > 0 ? true : null;
    });

  test('a page is all of the revision that it names', async () => {
    await account();
    let reading: ReturnType<typeof page> | undefined;
    await db.as('waybill_control').transaction(async (run) => {
      const text = (sql: string) => run({ name: '', text: sql }, []);
      await text('lock table waybill.bindings in access exclusive mode');
      reading = page();
      await waiting();
      await text('update waybill.catalog_revision set revision = revision + 1');
      await text('update waybill.bindings set enabled = false');
    });
    expect(await reading).toMatchObject({
      ...{ kind: 'page', revision: 0, capabilities: [{ capabilityId: CAPABILITY }] },
    });
    expect(await page()).toMatchObject({ kind: 'page', revision: 1, capabilities: [] });
  });

  test('reading waits for nobody', async () => {
    await account();
    await db.as('waybill_control').transaction(async (run) => {
      const lock = `select pg_advisory_xact_lock(hashtextextended('waybill.publication', 0))`;
      await run({ name: '', text: lock }, []);
      await run({ name: '', text: 'update waybill.bindings set enabled = false' }, []);
      expect((await found()).capabilities).toHaveLength(1);
      const catalog = capabilityCatalog(db.as('waybill_data'));
      expect((await catalog.contracts(ACME, [CAPABILITY])).contracts).toHaveLength(1);
    });
  });

  test('an action of a plan waits for the publication, and is refused after it', async () => {
    await account();
    const start = (ifCatalogRevision: number | null) =>
      actionLedger(db.as('waybill_data')).startAction({
        ...{ tenantId: ACME, actionId: randomUUID(), capabilityId: CAPABILITY },
        ...{ request: Buffer.from('{}'), affinityKey: null, requestedBy: 'ada' },
        ...{ deadlineMs: 60_000, retryBudget: 0, attendAfterMs: 60_000, ifCatalogRevision },
      });
    let starting: ReturnType<typeof start> | undefined;
    await db.as('waybill_control').transaction(async (run) => {
      const lock = `select pg_advisory_xact_lock(hashtextextended('waybill.publication', 0))`;
      await run({ name: '', text: lock }, []);
      // One without a plan does not wait.
      expect((await start(null)).kind).toBe('started');
      starting = start(0);
      await waiting();
      const publish = 'update waybill.catalog_revision set revision = revision + 1';
      await run({ name: '', text: publish }, []);
    });
    expect(await starting).toEqual({ kind: 'stale_plan', revision: 1 });
    expect((await start(1)).kind).toBe('started');
  });
});

describe('among many tenants', () => {
  /** 1,200 instances of 60 tenants with 40 bindings each, of 8,000 capabilities, most of them unbound. */
  async function fill(): Promise<void> {
    await account();
    await offer(8_000, { bound: false });
    await db.rows(`set session_replication_role = replica`);
    await db.rows(
      `insert into waybill.instances (tenant_id, instance_id, connector_id, version, status, grants)
        select 't-' || t, 'i-' || i, 'tracker', '1.0.0', 'enabled', '{tool}'
          from generate_series(1, 60) t, generate_series(1, $1) i`,
      [INSTANCES],
    );
    await db.rows(
      `insert into waybill.credential_revisions
        select tenant_id, instance_id, 'r1', 'active' from waybill.instances where tenant_id like 't-%'`,
    );
    await db.rows(
      `insert into waybill.bindings (tenant_id, capability_id, instance_id, credential_revision)
        select tenant_id, 'c-' || lpad((substr(instance_id, 3)::integer * 100 + n)::text, 4, '0'),
          instance_id, 'r1' from waybill.instances, generate_series(1, 40) n where tenant_id like 't-%'`,
    );
    await db.rows('vacuum analyze');
  }

  async function blocks(wanted: Partial<Record<keyof CapabilityPageRequest, unknown>>) {
    const { after = null, limit = 51, tenantId: tenant = 't-7', ...filters } = wanted;
    const { text } = capabilityListStatements.page;
    const values = [tenant, JSON.stringify(filters), after && JSON.stringify(after), limit];
    const data = db.as('waybill_data');
    const read = () => explain((...asked) => data.query(...asked), text, values);
    // Connections plan anew for some calls before they keep one plan: every one of them must do.
    const counts: number[] = [];
    for (let nth = 0; nth < 8; nth += 1) counts.push((await read()).blocks);
    return Math.max(...counts);
  }

  test('a page reads about as much as it shows', async () => {
    await fill();
    const after = { revision: 0, capabilityId: 'c-1020' };
    const wanted = [
      {},
      { after },
      { capabilityId: 'c-0501' },
      { search: 'c-0501' },
      { interfaceName: 'none' },
      { unbound: true },
      { unbound: true, after },
      { tenantId: null },
      { tenantId: 'nobody' },
    ];
    for (const one of wanted) {
      const count = await blocks(one);
      expect({ one, few: count < MOST_BLOCKS, count }).toMatchObject({ few: true });
    }
    expect(await blocks({ capabilityId: 'c-0501' })).toBeLessThan(150);
    expect(await blocks({ tenantId: 'nobody' })).toBeLessThan(50);
  });
});
