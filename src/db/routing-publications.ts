/** The part of a publication that routing needs, one statement a kind of row. */
import type {
  BindingRow,
  CapabilityEntry,
  InstanceRow,
  QuotaPolicyRow,
  ReplicaRow,
  VersionRow,
} from '../schemas/catalog-rows';
import type { Run, Statement } from './database';

export const routingPublicationStatements = {
  capabilities: {
    name: 'publication_capabilities',
    text: `insert into waybill.capabilities (capability_id, interface_name, side_effect, recovery,
        request_schema, result_schema, timeout_ms, contract_digest)
      select id, interface, "sideEffect", recovery, "requestSchema", "resultSchema", "timeoutMs",
          digest
        from jsonb_to_recordset($1) as r(id text, interface text, "sideEffect" text, recovery text,
          "requestSchema" jsonb, "resultSchema" jsonb, "timeoutMs" integer, digest text)`,
  },
  // A version that is there offers what it always did.
  offers: {
    name: 'publication_offers',
    text: `insert into waybill.version_capabilities (connector_id, version, capability_id)
      select r.connector, r.version, c.id
        from jsonb_to_recordset($1) as r(connector text, version text, capabilities text[])
        cross join lateral unnest(r.capabilities) as c(id)
      on conflict do nothing`,
  },
  quotaPolicies: {
    name: 'publication_quota_policies',
    text: `insert into waybill.quota_policies (quota_policy_id, binding_limit, instance_limit,
        connector_limit, tenant_retry_limit, tenant_limit, global_limit)
      select id, (limits->>'binding')::integer, (limits->>'instance')::integer,
          (limits->>'connector')::integer, (limits->>'tenantRetry')::integer,
          (limits->>'tenant')::integer, (limits->>'global')::integer
        from jsonb_to_recordset($1) as r(id text, limits jsonb)
      on conflict (quota_policy_id) do update
        set binding_limit = excluded.binding_limit, instance_limit = excluded.instance_limit,
            connector_limit = excluded.connector_limit,
            tenant_retry_limit = excluded.tenant_retry_limit,
            tenant_limit = excluded.tenant_limit, global_limit = excluded.global_limit`,
  },
  credentials: {
    name: 'publication_credentials',
    text: `insert into waybill.credential_revisions as k
        (tenant_id, instance_id, credential_revision, status)
      select r.tenant, r.id, c.key, c.value
        from jsonb_to_recordset($1) as r(tenant text, id text, credentials jsonb)
        cross join lateral jsonb_each_text(r.credentials) as c
      on conflict (tenant_id, instance_id, credential_revision) do update
        set status = excluded.status where k.status <> excluded.status`,
  },
  bindings: {
    name: 'publication_bindings',
    text: `insert into waybill.bindings (tenant_id, capability_id, instance_id, priority, enabled,
        spill, spread, approval_required, policy_revision, credential_revision, quota_policy_id)
      select tenant, capability, instance, priority, enabled, spill, spread, "approvalRequired",
          "policyRevision", "credentialRevision", "quotaPolicy"
        from jsonb_to_recordset($1) as r(tenant text, capability text, instance text,
          priority integer, enabled boolean, spill text, spread boolean, "approvalRequired" boolean,
          "policyRevision" bigint, "credentialRevision" text, "quotaPolicy" text)
      on conflict (tenant_id, capability_id, instance_id) do update
        set priority = excluded.priority, enabled = excluded.enabled, spill = excluded.spill,
            spread = excluded.spread, approval_required = excluded.approval_required,
            policy_revision = excluded.policy_revision,
            credential_revision = excluded.credential_revision,
            quota_policy_id = excluded.quota_policy_id`,
  },
  replicas: {
    name: 'publication_replicas',
    text: `insert into waybill.replicas (replica_id, tenant_id, instance_id, connector_id, version,
        endpoint, peer_did, peer_principal_id, peer_principal_kind, trust_domain,
        transport_profile, region, zone, capacity_class, capacity)
      select id, tenant, instance, connector, version, endpoint, peer->>'did',
          peer->>'principalId', peer->>'principalKind', "trustDomain", transport, region, zone,
          "capacityClass", capacity
        from jsonb_to_recordset($1) as r(id text, tenant text, instance text, connector text,
          version text, endpoint text, peer jsonb, "trustDomain" text, transport text, region text,
          zone text, "capacityClass" text, capacity integer)`,
  },
  // Of a replica that is there only the capacity can change.
  capacities: {
    name: 'publication_capacities',
    text: `update waybill.replicas x set capacity = r.capacity
      from jsonb_to_recordset($1) as r(id text, capacity integer)
      where x.replica_id = r.id and x.capacity <> r.capacity`,
  },
} as const satisfies Record<string, Statement>;

/** The rows that differ from what is there. */
export interface RoutingRows {
  /** New ones only. */
  readonly capabilities: readonly (CapabilityEntry & { readonly digest: string })[];
  readonly versions: readonly VersionRow[];
  readonly quotaPolicies: readonly QuotaPolicyRow[];
  readonly instances: readonly InstanceRow[];
  readonly bindings: readonly BindingRow[];
  /** New ones only. */
  readonly replicas: readonly ReplicaRow[];
  /** Of replicas that are there. */
  readonly capacities: readonly Pick<ReplicaRow, 'id' | 'capacity'>[];
}

/** All but the capacities; after the versions and instances themselves, which these rows refer to. */
export async function writeRouting(run: Run, rows: RoutingRows): Promise<void> {
  const statements = routingPublicationStatements;
  await writeAll(run, statements.capabilities, rows.capabilities);
  await writeAll(run, statements.offers, rows.versions);
  await writeAll(run, statements.quotaPolicies, rows.quotaPolicies);
  await writeAll(run, statements.credentials, rows.instances);
  await writeAll(run, statements.bindings, rows.bindings);
  await writeAll(run, statements.replicas, rows.replicas);
}

/** Rows that routing and hosts lock all the time: the last ones, and held for the shortest time. */
export async function writeCapacities(
  run: Run,
  capacities: RoutingRows['capacities'],
): Promise<void> {
  await writeAll(run, routingPublicationStatements.capacities, capacities);
}

/** One statement for all of them; none without rows. */
export async function writeAll(
  run: Run,
  statement: Statement,
  rows: readonly object[],
): Promise<void> {
  if (rows.length > 0) await run(statement, [JSON.stringify(rows)]);
}
