/** What routing needs of the catalog, as a publication sees it. */
import type { TenantKey } from '../schemas/catalog-rows';
import { BindingRow, CapabilityEntry, QuotaPolicyRow, ReplicaRow } from '../schemas/catalog-rows';
import type { Run, Statement } from './database';

export const routingCatalogStatements = {
  capabilities: {
    name: 'catalog_capabilities',
    text: `select capability_id as id, interface_name as interface, side_effect as "sideEffect",
        recovery, request_schema as "requestSchema", result_schema as "resultSchema",
        timeout_ms as "timeoutMs"
      from waybill.capabilities where capability_id = any ($1::text[])`,
  },
  quotaPolicies: {
    name: 'catalog_quota_policies',
    text: `select quota_policy_id as id, jsonb_build_object('binding', binding_limit,
        'instance', instance_limit, 'connector', connector_limit, 'tenantRetry', tenant_retry_limit,
        'tenant', tenant_limit, 'global', global_limit) as limits
      from waybill.quota_policies where quota_policy_id = any ($1::text[])`,
  },
  // Of these capabilities, and those of instances that may change.
  bindings: {
    name: 'catalog_bindings',
    text: `select tenant_id as tenant, capability_id as capability, instance_id as instance,
        priority, enabled, spill, spread, approval_required as "approvalRequired",
        policy_revision as "policyRevision",
        credential_revision as "credentialRevision", quota_policy_id as "quotaPolicy"
      from waybill.bindings
      where (tenant_id, capability_id) in (select * from unnest($1::text[], $2::text[]))
        or (tenant_id, instance_id) in (select * from unnest($3::text[], $4::text[]))
      order by tenant_id, capability_id, instance_id`,
  },
  replicas: {
    name: 'catalog_replicas',
    text: `select tenant_id as tenant, replica_id as id, instance_id as instance,
        connector_id as connector, version, endpoint, jsonb_build_object('did', peer_did,
          'principalId', peer_principal_id, 'principalKind', peer_principal_kind) as peer,
        trust_domain as "trustDomain", transport_profile as transport, region, zone,
        capacity_class as "capacityClass", capacity
      from waybill.replicas where replica_id = any ($1::text[])`,
  },
} as const satisfies Record<string, Statement>;

export async function readCapabilities(
  run: Run,
  ids: readonly string[],
): Promise<CapabilityEntry[]> {
  const rows = await run(routingCatalogStatements.capabilities, [ids]);
  return rows.map((row) => CapabilityEntry.parse(row));
}

export async function readQuotaPolicies(
  run: Run,
  ids: readonly string[],
): Promise<QuotaPolicyRow[]> {
  const rows = await run(routingCatalogStatements.quotaPolicies, [ids]);
  return rows.map((row) => QuotaPolicyRow.parse(row));
}

/** All bindings of these tenants' capabilities, and of these instances. */
export async function readBindings(
  run: Run,
  capabilities: readonly { readonly tenant: string; readonly capability: string }[],
  instances: readonly TenantKey[],
): Promise<BindingRow[]> {
  const rows = await run(routingCatalogStatements.bindings, [
    capabilities.map(({ tenant }) => tenant),
    capabilities.map(({ capability }) => capability),
    instances.map(({ tenant }) => tenant),
    instances.map(({ id }) => id),
  ]);
  return rows.map((row) => BindingRow.parse(row));
}

/** The replicas of these ids, whose tenant's ever they are. */
export async function readReplicas(run: Run, ids: readonly string[]): Promise<ReplicaRow[]> {
  const rows = await run(routingCatalogStatements.replicas, [ids]);
  return rows.map((row) => ReplicaRow.parse(row));
}
