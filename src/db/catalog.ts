/** The catalog as a publication sees it: what is there now, by the keys that a fleet names. */
import type { TenantKey, VersionKey } from '../schemas/catalog-rows';
import {
  CatalogHead,
  ConnectorRow,
  IngressOwner,
  PublishedInstance,
  SubscriptionRow,
  TargetRow,
  VersionRow,
} from '../schemas/catalog-rows';
import type { Run, Statement } from './database';
import { onlyRow } from './database';

/** By name, and those of instances that are about to be revoked. */
const SUBSCRIPTIONS = `
  select s.tenant_id as tenant, s.subscription_id as id, s.instance_id as instance,
      s.target_id as target, s.event_types as "eventTypes", s.retry_profile as retry, s.state,
      s.lane, s.drain_per_second::float8 as "drainPerSecond",
      s.pause_reason as "pauseReason",
      case when g.ingress_ref is not null then jsonb_build_object('ref', g.ingress_ref,
        'bodyLimitBytes', g.body_limit_bytes, 'secrets', g.secrets,
        'previous', (select coalesce(jsonb_agg(jsonb_build_object('ref', o.ingress_ref, 'until',
            to_char(o.valid_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
            order by o.valid_until desc, o.ingress_ref collate "C"), '[]')
          from waybill.retired_ingresses o where o.tenant_id = s.tenant_id
            and o.subscription_id = s.subscription_id)) end as ingress
    from waybill.subscriptions s left join waybill.ingresses g using (tenant_id, subscription_id)
    where (s.tenant_id, s.subscription_id) in (select * from unnest($1::text[], $2::text[]))
      or (s.tenant_id, s.instance_id) in (select * from unnest($3::text[], $4::text[]))
    order by s.tenant_id, s.subscription_id`;

export const catalogStatements = {
  head: {
    name: 'catalog_head',
    text: `select r.revision, (extract(epoch from clock_timestamp()) * 1000)::bigint as "nowMs",
        jsonb_build_object(
        'replayWindowMinutes', s.replay_window_minutes, 'defaultRetry', s.default_retry,
        'rejectedBytesMinutes', s.rejected_bytes_minutes, 'circuitUnknowns', s.circuit_unknowns,
        'circuitOpenMs', s.circuit_open_ms, 'circuitProbes', s.circuit_probes,
        'replicaLeaseMs', s.replica_lease_ms, 'replicaHysteresis', s.replica_hysteresis,
        'actionRetentionDays', s.action_retention_days,
        'tombstoneRetentionDays', s.tombstone_retention_days,
        'eventRetentionDays', s.event_retention_days, 'eventHoldDays', s.event_hold_days,
        'targetAddresses', s.target_addresses, 'workflowTargets', s.workflow_targets,
        'retention', s.retention, 'tenantInFlight', s.tenant_in_flight,
        'requiredEvidence', s.required_evidence, 'trustedSigners', s.trusted_signers,
        'trustedApprovers', s.trusted_approvers, 'approvalTtlMs', s.approval_ttl_ms) as settings
      from waybill.catalog_revision r cross join waybill.settings s`,
  },
  connectors: {
    name: 'catalog_connectors',
    text: `select connector_id as id, name, provider, owner_tenant_id as tenant, enabled
      from waybill.connectors where connector_id = any ($1::text[])`,
  },
  versions: {
    name: 'catalog_versions',
    text: `select v.connector_id as connector, v.version, v.status,
        v.webhook_scheme as "webhookScheme", v.retry_profile as retry,
        v.adapter_ref as "adapterRef", v.configuration_form as "configurationForm",
        v.release_id as "releaseId", v.artifact_digest as "artifactDigest",
        v.manifest_digest as "manifestDigest", v.profiles, v.rate_limit as "rateLimit",
        v.outbound,
        array(select o.capability_id from waybill.version_capabilities o
          where o.connector_id = v.connector_id and o.version = v.version
          order by o.capability_id collate "C") as capabilities
      from waybill.connector_versions v
      where (v.connector_id, v.version) in (select * from unnest($1::text[], $2::text[]))`,
  },
  instances: {
    name: 'catalog_instances',
    text: `select i.tenant_id as tenant, i.instance_id as id, i.connector_id as connector, i.version,
        i.grants, i.status, i.config, i.secret_ref as "secretRef",
        i.signing_secret_refs as "signingSecretRefs",
        i.config_revision as "configRevision",
        coalesce((select jsonb_object_agg(k.credential_revision, k.status)
          from waybill.credential_revisions k where k.tenant_id = i.tenant_id
          and k.instance_id = i.instance_id), '{}') as credentials,
        exists (select from waybill.subscriptions s where s.tenant_id = i.tenant_id
          and s.instance_id = i.instance_id and s.state <> 'deactivated') as subscribed,
        exists (select from waybill.subscriptions s join waybill.ingresses g
          using (tenant_id, subscription_id) where s.tenant_id = i.tenant_id
          and s.instance_id = i.instance_id) as receives,
        exists (select from waybill.certifications k where k.tenant_id = i.tenant_id
          and k.instance_id = i.instance_id and k.state = 'running') as certifying
      from waybill.instances i
      where (i.tenant_id, i.instance_id) in (select * from unnest($1::text[], $2::text[]))`,
  },
  targets: {
    name: 'catalog_targets',
    text: `select tenant_id as tenant, target_id as id,
        case kind when 'http' then config end as http,
        case kind when 'action' then config end as action,
        case kind when 'workflow' then config end as workflow,
        case kind when 'event' then config end as event,
        jsonb_build_object('drainPerSecond', drain_per_second, 'maxInFlight', max_in_flight,
          'breakerFailures', breaker_failures, 'breakerOpenMs', breaker_open_ms) as flow
      from waybill.targets
      where (tenant_id, target_id) in (select * from unnest($1::text[], $2::text[]))`,
  },
  subscriptions: { name: 'catalog_subscriptions', text: SUBSCRIPTIONS },
  // A target that is gone pauses its subscription at any time: not between this and the write.
  lockedSubscriptions: {
    name: 'catalog_locked_subscriptions',
    text: `${SUBSCRIPTIONS} for update of s`,
  },
  ingressOwners: {
    name: 'catalog_ingress_owners',
    text: `select ingress_ref as ref, tenant_id as tenant, subscription_id as id
      from waybill.ingresses where ingress_ref = any ($1::text[])
      union all
      select ingress_ref, tenant_id, subscription_id
      from waybill.retired_ingresses where ingress_ref = any ($1::text[])`,
  },
} as const satisfies Record<string, Statement>;

export async function readCatalogHead(run: Run): Promise<CatalogHead> {
  return CatalogHead.parse(onlyRow(await run(catalogStatements.head, [])));
}

export async function readConnectors(run: Run, ids: readonly string[]): Promise<ConnectorRow[]> {
  const rows = await run(catalogStatements.connectors, [ids]);
  return rows.map((row) => ConnectorRow.parse(row));
}

export async function readVersions(run: Run, keys: readonly VersionKey[]): Promise<VersionRow[]> {
  const connectors = keys.map((key) => key.connector);
  const versions = keys.map((key) => key.version);
  const rows = await run(catalogStatements.versions, [connectors, versions]);
  return rows.map((row) => VersionRow.parse(row));
}

export async function readInstances(
  run: Run,
  keys: readonly TenantKey[],
): Promise<PublishedInstance[]> {
  const rows = await run(catalogStatements.instances, columns(keys));
  return rows.map((row) => PublishedInstance.parse(row));
}

export async function readTargets(run: Run, keys: readonly TenantKey[]): Promise<TargetRow[]> {
  const rows = await run(catalogStatements.targets, columns(keys));
  return rows.map((row) => TargetRow.parse(row));
}

/** The subscriptions of these keys, and all of those instances. */
export async function readSubscriptions(
  run: Run,
  keys: readonly TenantKey[],
  instances: readonly TenantKey[],
): Promise<SubscriptionRow[]> {
  const values = [...columns(keys), ...columns(instances)];
  const rows = await run(catalogStatements.subscriptions, values);
  return rows.map((row) => SubscriptionRow.parse(row));
}

/** The same, and nobody else changes them until the end of the transaction. */
export async function lockSubscriptions(
  run: Run,
  keys: readonly TenantKey[],
  instances: readonly TenantKey[],
): Promise<SubscriptionRow[]> {
  const values = [...columns(keys), ...columns(instances)];
  const rows = await run(catalogStatements.lockedSubscriptions, values);
  return rows.map((row) => SubscriptionRow.parse(row));
}

/** Who has these ingress references, over all tenants. */
export async function readIngressOwners(
  run: Run,
  refs: readonly string[],
): Promise<IngressOwner[]> {
  const rows = await run(catalogStatements.ingressOwners, [refs]);
  return rows.map((row) => IngressOwner.parse(row));
}

function columns(keys: readonly TenantKey[]): [string[], string[]] {
  return [keys.map((key) => key.tenant), keys.map((key) => key.id)];
}
