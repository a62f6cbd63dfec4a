/** The registry in a real Postgres of its own, set up by plain SQL; the product calls as its roles. */
import { actionLedger } from '../../src/db/actions';
import { capabilityCatalog } from '../../src/db/capabilities';
import { beginRecovery, endRecovery } from '../../src/db/recovery';
import { fleetStatusProvider, registryAdministrator, registryReader } from '../../src/db/replicas';
import { routeOperator } from '../../src/db/route-operations';
import { actionTargetResolver } from '../../src/db/routes';
import { retainActions } from '../../src/db/route-upkeep';
import type { TestDatabase } from '../support/test-database';
import { testSigner } from '../support/test-signer';
import type { AccountSeed, CatalogChange, RegistryFixture, ReplicaSeed } from './fixture';
import { ANYWHERE, CAPABILITY } from './fixture';

export function postgresFixture(db: TestDatabase): RegistryFixture {
  return {
    registry: (topology = ANYWHERE) => ({
      catalog: capabilityCatalog(db.as('waybill_data')),
      ledger: actionLedger(db.as('waybill_data')),
      resolver: actionTargetResolver(db.as('waybill_data'), topology),
      operator: routeOperator(db.as('waybill_data'), testSigner),
      reader: registryReader(db.as('waybill_lifecycle')),
      administrator: registryAdministrator(db.as('waybill_lifecycle')),
      fleet: fleetStatusProvider(db.as('waybill_operations')),
    }),
    account: (seed) => addAccount(db, seed),
    replica: (seed) => addReplica(db, seed),
    change: (change) => applyChange(db, change),
    elapse: (ms) => elapse(db, ms),
    async held() {
      const rows = await db.rows<{ key: string; held: number }>(
        `select scope || ' ' || scope_key as key, held from waybill.quota_counters where held <> 0`,
      );
      return Object.fromEntries(rows.map(({ key, held }) => [key, held]));
    },
    async lateEvidence(tenant, action, fence) {
      const [row] = await db.rows<{ late: unknown[] }>(
        `select late_evidence as late from waybill.route_attempts
          where tenant_id = $1 and action_id = $2 and fence = $3`,
        [tenant, action, fence],
      );
      return row?.late ?? [];
    },
    bury: (tenant, action) => bury(db, tenant, action),
    async recovering(held) {
      const operations = db.as('waybill_operations');
      await (held ? beginRecovery(operations, 'test') : endRecovery(operations, 'test'));
    },
    close: () => db.drop(),
  };
}

export async function addAccount(db: Pick<TestDatabase, 'rows'>, seed: AccountSeed): Promise<void> {
  await db.rows(
    `insert into waybill.capabilities values
      ($1, 'work-items', 'shared-write', 'lookup', '{}', '{}', encode(sha256(convert_to($1, 'UTF8')), 'hex'))
      on conflict do nothing`,
    [CAPABILITY],
  );
  const { connector, tenant, instance } = seed;
  await db.rows(
    `insert into waybill.connectors (connector_id, name, provider) values ($1, $1, $1)
      on conflict do nothing`,
    [connector],
  );
  await db.rows(
    `insert into waybill.connector_versions
      (connector_id, version, status, content_digest, manifest_digest)
      values ($1, '1.0.0', 'active', repeat('0', 64), encode(sha256('manifest'), 'hex'))
      on conflict do nothing`,
    [connector],
  );
  await db.rows(
    `insert into waybill.version_capabilities values ($1, '1.0.0', $2) on conflict do nothing`,
    [connector, CAPABILITY],
  );
  await db.rows(
    `insert into waybill.instances (tenant_id, instance_id, connector_id, version, status, grants)
      values ($1, $2, $3, '1.0.0', 'enabled', '{tool}')`,
    [tenant, instance, connector],
  );
  await db.rows(`insert into waybill.credential_revisions values ($1, $2, 'r1', 'active')`, [
    tenant,
    instance,
  ]);
  if (seed.quota !== null) {
    await db.rows(
      'insert into waybill.quota_policies (quota_policy_id) values ($1) on conflict do nothing',
      [seed.quota],
    );
  }
  await db.rows(
    `insert into waybill.bindings (tenant_id, capability_id, instance_id, priority, spill, spread,
        credential_revision, quota_policy_id) values ($1, $2, $3, $4, $5, $6, 'r1', $7)`,
    [tenant, CAPABILITY, instance, seed.priority, seed.spill, seed.spread, seed.quota],
  );
}

export async function addReplica(db: Pick<TestDatabase, 'rows'>, seed: ReplicaSeed): Promise<void> {
  await db.rows(
    `insert into waybill.replicas (replica_id, tenant_id, instance_id, connector_id, version,
        endpoint, peer_principal_id, peer_principal_kind, peer_did, trust_domain,
        transport_profile, region, zone, capacity_class, capacity)
      select $1, tenant_id, instance_id, connector_id, version, 'http://127.0.0.1:1', $1,
        'connector-host', 'did:key:' || $1, 'waybill', 'http-loopback', $4, $5, $6, $7
      from waybill.instances where tenant_id = $2 and instance_id = $3`,
    [
      ...[seed.replica, seed.tenant, seed.instance, seed.region, seed.zone],
      ...[seed.capacityClass, seed.capacity],
    ],
  );
}

async function changeOffers(db: TestDatabase, change: CatalogChange): Promise<void> {
  const { offer, removedOffer, profiles, published } = change;
  if (offer !== undefined) {
    const { capability, interfaceName, connector, instance } = offer;
    await db.rows(
      `insert into waybill.capabilities
        select $1, $2, 'read', 'lookup', '{}', '{}', encode(sha256(convert_to($1, 'UTF8')), 'hex')`,
      [capability, interfaceName],
    );
    await db.rows(`insert into waybill.version_capabilities values ($1, '1.0.0', $2)`, [
      connector,
      capability,
    ]);
    if (instance !== null) {
      await db.rows(
        `insert into waybill.bindings (tenant_id, capability_id, instance_id, credential_revision)
          values ($1, $2, $3, 'r1')`,
        [instance.tenant, capability, instance.id],
      );
    }
  }
  if (removedOffer !== undefined) {
    await db.rows(
      'delete from waybill.version_capabilities where connector_id = $1 and capability_id = $2',
      [removedOffer.connector, removedOffer.capability],
    );
  }
  if (profiles !== undefined) {
    await db.rows('update waybill.connector_versions set profiles = $2 where connector_id = $1', [
      profiles.connector,
      profiles.names,
    ]);
  }
  if (published === true) {
    await db.rows('update waybill.catalog_revision set revision = revision + 1');
  }
}

async function rollOut(
  db: TestDatabase,
  { instance, version }: NonNullable<CatalogChange['rollout']>,
): Promise<void> {
  for (const table of ['connector_versions', 'version_capabilities']) {
    await db.rows(
      `insert into waybill.${table} select (jsonb_populate_record(v,
          jsonb_build_object('version', $2::text))).*
        from waybill.${table} v join waybill.instances i using (connector_id)
        where i.instance_id = $1 and v.version = '1.0.0'`,
      [instance, version],
    );
  }
  await db.rows('update waybill.instances set version = $2 where instance_id = $1', [
    instance,
    version,
  ]);
}

async function applyChange(db: TestDatabase, change: CatalogChange): Promise<void> {
  await changeOffers(db, change);
  if (change.rollout !== undefined) await rollOut(db, change.rollout);
  const { binding, instance, connector, version, credential, quota, rate, settings } = change;
  const set = (text: string, key: string, value: unknown) =>
    db.rows(`update waybill.${text} = $1`, [key, value]);
  if (binding !== undefined) {
    await set('bindings set enabled = $2 where instance_id', binding.instance, binding.enabled);
  }
  if (change.approval !== undefined) {
    const { instance: id, required: asked } = change.approval;
    await set('bindings set approval_required = $2 where instance_id', id, asked);
  }
  if (instance !== undefined) {
    await set('instances set status = $2 where instance_id', instance.instance, instance.status);
  }
  if (connector !== undefined) {
    const { connector: id, enabled } = connector;
    await set('connectors set enabled = $2 where connector_id', id, enabled);
  }
  if (version !== undefined) {
    const { connector: id, status } = version;
    const first = `version = '1.0.0' and connector_id`;
    await set(`connector_versions set status = $2 where ${first}`, id, status);
  }
  if (change.evidence !== undefined) {
    const { connector: id, endsInMs } = change.evidence;
    await db.rows(
      `update waybill.connector_versions
        set evidence_until = clock_timestamp() + make_interval(secs => $2 / 1000.0)
        where version = '1.0.0' and connector_id = $1`,
      [id, endsInMs],
    );
  }
  if (credential !== undefined) {
    const { instance: id, status } = credential;
    await set('credential_revisions set status = $2 where instance_id', id, status);
  }
  if (rate !== undefined) {
    const { connector: id, limit } = rate;
    await set('connector_versions set rate_limit = $2 where connector_id', id, limit);
  }
  for (const scope of Object.keys(quota?.limits ?? {})) {
    const limit = quota?.limits[scope as keyof typeof quota.limits];
    await set(
      `quota_policies set ${scope}_limit = $2 where quota_policy_id`,
      quota?.id ?? '',
      limit,
    );
  }
  for (const [name, value] of Object.entries(settings ?? {})) {
    const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    await db.rows(`update waybill.settings set ${column} = $1`, [value]);
  }
}

/** Time passes by moving every stored instant back. */
async function elapse(db: TestDatabase, ms: number): Promise<void> {
  const instants = [
    ['route_attempts', 'deadline_at'],
    ['replicas', 'lease_ends_at'],
    ['replicas', 'circuit_open_until'],
    ['rate_limits', 'due_at'],
    ['rate_limits', 'held_until'],
    ['quota_counters', 'released_at'],
    ['connector_versions', 'evidence_until'],
    ['actions', 'deadline_at'],
    ['actions', 'attend_at'],
  ];
  for (const [table, column] of instants) {
    await db.rows(
      `update waybill.${table} set ${column} = ${column} - make_interval(secs => $1 / 1000.0)`,
      [ms],
    );
  }
}

async function bury(db: TestDatabase, tenant: string, action: string): Promise<boolean> {
  await db.rows(
    `update waybill.actions set closed_at = closed_at - interval '31 days'
      where tenant_id = $1 and action_id = $2 and closed_at is not null`,
    [tenant, action],
  );
  return (await retainActions(db.as('waybill_operations'), 100)).actions === 1;
}
