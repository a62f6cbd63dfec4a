/** The keys of all that is published, for reading the whole catalog in parts. */
import { z } from 'zod';
import type { TenantKey, VersionKey } from '../schemas/catalog-rows';
import type { Run, Statement } from './database';

export const catalogKeyStatements = {
  capabilities: {
    name: 'catalog_capability_keys',
    text: `select capability_id as id from waybill.capabilities`,
  },
  versions: {
    name: 'catalog_version_keys',
    text: `select v.connector_id as connector, v.version
      from waybill.connector_versions v join waybill.connectors c using (connector_id)
      where $1::text is null or c.owner_tenant_id = $1`,
  },
  evidence: {
    name: 'catalog_evidence_keys',
    text: `select e.evidence_id as id
      from waybill.evidence_statements e join waybill.connectors c using (connector_id)
      where $1::text is null or c.owner_tenant_id = $1`,
  },
  quotaPolicies: {
    name: 'catalog_quota_policy_keys',
    text: `select quota_policy_id as id from waybill.quota_policies`,
  },
  instances: {
    name: 'catalog_instance_keys',
    text: `select tenant_id as tenant, instance_id as id from waybill.instances
      where $1::text is null or tenant_id = $1`,
  },
  // Of a tenant's capability all bindings are read at once.
  bindings: {
    name: 'catalog_binding_keys',
    text: `select tenant_id as tenant, capability_id as capability from waybill.bindings
      where $1::text is null or tenant_id = $1
      group by tenant_id, capability_id`,
  },
  replicas: {
    name: 'catalog_replica_keys',
    text: `select tenant_id as tenant, replica_id as id from waybill.replicas
      where $1::text is null or tenant_id = $1`,
  },
  targets: {
    name: 'catalog_target_keys',
    text: `select tenant_id as tenant, target_id as id from waybill.targets
      where $1::text is null or tenant_id = $1`,
  },
  subscriptions: {
    name: 'catalog_subscription_keys',
    text: `select tenant_id as tenant, subscription_id as id from waybill.subscriptions
      where $1::text is null or tenant_id = $1`,
  },
} as const satisfies Record<string, Statement>;

const PlatformKey = z.object({ id: z.string() });
const OwnKey = z.object({ tenant: z.string(), id: z.string() });
const ConnectorKey = z.object({ connector: z.string(), version: z.string() });
const OfferKey = z.object({ tenant: z.string(), capability: z.string() });

export async function capabilityKeys(run: Run): Promise<string[]> {
  const rows = await run(catalogKeyStatements.capabilities, []);
  return rows.map((row) => PlatformKey.parse(row).id);
}

export async function quotaPolicyKeys(run: Run): Promise<string[]> {
  const rows = await run(catalogKeyStatements.quotaPolicies, []);
  return rows.map((row) => PlatformKey.parse(row).id);
}

/** @param tenant the versions of its own connectors; null: of all of them */
export async function versionKeys(run: Run, tenant: string | null): Promise<VersionKey[]> {
  const rows = await run(catalogKeyStatements.versions, [tenant]);
  return rows.map((row) => ConnectorKey.parse(row));
}

/** @param tenant the statements on its own connectors; null: all of them */
export async function evidenceKeys(run: Run, tenant: string | null): Promise<string[]> {
  const rows = await run(catalogKeyStatements.evidence, [tenant]);
  return rows.map((row) => PlatformKey.parse(row).id);
}

/** The capabilities that the tenant (null: each of them) has bindings of. */
export async function bindingKeys(
  run: Run,
  tenant: string | null,
): Promise<z.infer<typeof OfferKey>[]> {
  const rows = await run(catalogKeyStatements.bindings, [tenant]);
  return rows.map((row) => OfferKey.parse(row));
}

/** @param tenant null: those of all tenants */
export async function tenantKeys(
  run: Run,
  kind: 'instances' | 'replicas' | 'targets' | 'subscriptions',
  tenant: string | null,
): Promise<TenantKey[]> {
  const rows = await run(catalogKeyStatements[kind], [tenant]);
  return rows.map((row) => OwnKey.parse(row));
}
