/**
 * Writing a publication: its locks, one statement a kind of row, the new revision, audit and events.
 * All of it in the transaction of the caller (docs/architecture, "Publishing").
 */
import type { EventName } from '../domain/events';
import { EVENT_TOPICS } from '../domain/events';
import type {
  ConnectorRow,
  EvidenceRow,
  IngressRow,
  InstanceRow,
  SettingsRow,
  SubscriptionRow,
  TargetRow,
  TenantKey,
  VersionKey,
  VersionRow,
} from '../schemas/catalog-rows';
import type { Run, Statement } from './database';
import { onlyRow } from './database';
import { writeEventSinks, type PublishedSink } from './event-sinks';
import { projectEvidence, writeEvidence } from './evidence';
import type { RoutingRows } from './routing-publications';
import { writeAll, writeCapacities, writeRouting } from './routing-publications';

export const publicationStatements = {
  lock: {
    name: 'publication_lock',
    text: `select waybill.take_publication_lock($1, $2) as taken`,
  },
  settings: {
    name: 'publication_settings',
    text: `update waybill.settings set replay_window_minutes = $1, default_retry = $2,
      rejected_bytes_minutes = $3, circuit_unknowns = $4, circuit_open_ms = $5,
      circuit_probes = $6, replica_lease_ms = $7, replica_hysteresis = $8,
      action_retention_days = $9, tombstone_retention_days = $10, required_evidence = $11,
      trusted_signers = $12, event_retention_days = $13, event_hold_days = $14,
      target_addresses = $15, workflow_targets = $16, retention = $17,
      tenant_in_flight = $18, trusted_approvers = $19, approval_ttl_ms = $20`,
  },
  // Of a connector that is there only whether it is enabled can change.
  connectors: {
    name: 'publication_connectors',
    text: `insert into waybill.connectors (connector_id, owner_tenant_id, name, provider, enabled)
      select id, tenant, name, provider, enabled
        from jsonb_to_recordset($1) as r(id text, tenant text, name text, provider text,
          enabled boolean)
      on conflict (connector_id) do update set enabled = excluded.enabled`,
  },
  // Of a version that is there only the status can change.
  versions: {
    name: 'publication_versions',
    text: `insert into waybill.connector_versions
        (connector_id, version, status, webhook_scheme, retry_profile, content_digest,
          adapter_ref, configuration_form, release_id, artifact_digest, manifest_digest, profiles,
          rate_limit, outbound)
      select connector, version, status, "webhookScheme", retry, digest, "adapterRef",
          "configurationForm", "releaseId", "artifactDigest", "manifestDigest", profiles,
          "rateLimit", outbound
        from jsonb_to_recordset($1) as r(connector text, version text, status text,
          "webhookScheme" jsonb, retry jsonb, digest text, "adapterRef" jsonb,
          "configurationForm" jsonb, "releaseId" text, "artifactDigest" text,
          "manifestDigest" text, profiles text[], "rateLimit" jsonb, outbound jsonb)
      on conflict (connector_id, version) do update set status = excluded.status`,
  },
  instances: {
    name: 'publication_instances',
    text: `insert into waybill.instances
        (tenant_id, instance_id, connector_id, version, status, grants, config, secret_ref,
          signing_secret_refs, config_revision)
      select tenant, id, connector, version, status, grants, config, "secretRef",
          "signingSecretRefs", "configRevision"
        from jsonb_to_recordset($1) as r(tenant text, id text, connector text, version text,
          status text, grants text[], config jsonb, "secretRef" text, "signingSecretRefs" text[],
          "configRevision" bigint)
      on conflict (tenant_id, instance_id) do update
        set version = excluded.version, status = excluded.status, grants = excluded.grants,
            config = excluded.config, secret_ref = excluded.secret_ref,
            signing_secret_refs = excluded.signing_secret_refs,
            config_revision = excluded.config_revision`,
  },
  targets: {
    name: 'publication_targets',
    text: `insert into waybill.targets (tenant_id, target_id, kind, config, drain_per_second,
        max_in_flight, breaker_failures, breaker_open_ms)
      select tenant, id, case when action is not null then 'action'
            when workflow is not null then 'workflow' when event is not null then 'event'
            else 'http' end,
          coalesce(action, workflow, event, http), (flow->>'drainPerSecond')::numeric,
          (flow->>'maxInFlight')::integer, (flow->>'breakerFailures')::integer,
          (flow->>'breakerOpenMs')::integer
        from jsonb_to_recordset($1) as r(tenant text, id text, http jsonb, action jsonb,
          workflow jsonb, event jsonb, flow jsonb)
      on conflict (tenant_id, target_id) do update set config = excluded.config,
        drain_per_second = excluded.drain_per_second, max_in_flight = excluded.max_in_flight,
        breaker_failures = excluded.breaker_failures, breaker_open_ms = excluded.breaker_open_ms`,
  },
  subscriptions: {
    name: 'publication_subscriptions',
    text: `insert into waybill.subscriptions (tenant_id, subscription_id, instance_id, target_id,
        event_types, retry_profile, lane, drain_per_second, state, pause_reason)
      select tenant, id, instance, target, "eventTypes", retry, "lane", "drainPerSecond", state, "pauseReason"
        from jsonb_to_recordset($1) as r(tenant text, id text, instance text, target text,
          "eventTypes" text[], retry jsonb, lane text, "drainPerSecond" numeric, state text,
          "pauseReason" text)
      on conflict (tenant_id, subscription_id) do update
        set instance_id = excluded.instance_id, target_id = excluded.target_id,
            event_types = excluded.event_types, retry_profile = excluded.retry_profile,
            lane = excluded.lane, drain_per_second = excluded.drain_per_second,
            state = excluded.state, pause_reason = excluded.pause_reason`,
  },
  // References may be exchanged between subscriptions: give them up first. No written reference
  // begins with a tilde.
  releaseIngresses: {
    name: 'publication_release_ingresses',
    text: `update waybill.ingresses g set ingress_ref = '~' || r.tenant || '/' || r.id
        from jsonb_to_recordset($1) as r(tenant text, id text)
        where g.tenant_id = r.tenant and g.subscription_id = r.id`,
  },
  ingresses: {
    name: 'publication_ingresses',
    text: `insert into waybill.ingresses
        (ingress_ref, tenant_id, subscription_id, secrets, body_limit_bytes)
      select ref, tenant, id, secrets, "bodyLimitBytes"
        from jsonb_to_recordset($1) as r(ref text, tenant text, id text, secrets jsonb,
          "bodyLimitBytes" integer)
      on conflict (tenant_id, subscription_id) do update
        set ingress_ref = excluded.ingress_ref, secrets = excluded.secrets,
            body_limit_bytes = excluded.body_limit_bytes`,
  },
  forgetRetired: {
    name: 'publication_forget_retired',
    text: `delete from waybill.retired_ingresses o
        using jsonb_to_recordset($1) as r(tenant text, id text)
        where o.tenant_id = r.tenant and o.subscription_id = r.id`,
  },
  retiredIngresses: {
    name: 'publication_retired_ingresses',
    text: `insert into waybill.retired_ingresses (ingress_ref, tenant_id, subscription_id, valid_until)
      select p.ref, r.tenant, r.id, p.until
        from jsonb_to_recordset($1) as r(tenant text, id text, previous jsonb)
        cross join lateral jsonb_to_recordset(r.previous) as p(ref text, until timestamptz)`,
  },
  revision: {
    name: 'publication_revision',
    text: `update waybill.catalog_revision
      set revision = revision + 1, published_at = clock_timestamp() returning revision`,
  },
  connectorEvents: {
    name: 'publication_connector_events',
    text: `with told as (
        update waybill.connector_versions v set event_seq = v.event_seq + 1
          from jsonb_to_recordset($1) as e(connector text, version text, tenant text, topic text,
            payload jsonb)
          where v.connector_id = e.connector and v.version = e.version
          returning e.*, v.event_seq)
      insert into waybill.outbox_events (tenant_id, aggregate, aggregate_seq, topic, payload)
        select tenant, 'connector/' || connector || '/' || version, event_seq, topic, payload
          from told`,
  },
  subscriptionEvents: {
    name: 'publication_subscription_events',
    text: `with told as (
        update waybill.subscriptions s set event_seq = s.event_seq + 1
          from jsonb_to_recordset($1) as e(id text, tenant text, topic text, payload jsonb)
          where s.tenant_id = e.tenant and s.subscription_id = e.id
          returning e.*, s.event_seq)
      insert into waybill.outbox_events (tenant_id, aggregate, aggregate_seq, topic, payload)
        select tenant, 'subscription/' || id, event_seq, topic, payload from told`,
  },
  audit: {
    name: 'publication_audit',
    text: `insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
      values (null, $1, 'publish', 'catalog/' || $2::text, $3)`,
  },
} as const satisfies Record<string, Statement>;

/** An event of a connector version or subscription; its payload is the event's whole content. */
export interface PublicationEvent<Key> {
  readonly name: EventName;
  readonly key: Key;
  readonly tenant: string;
  readonly payload: object;
}

/** The rows that differ from what is there, and what is told of them. */
export interface PublicationRows extends RoutingRows {
  readonly settings: SettingsRow | null;
  readonly connectors: readonly ConnectorRow[];
  readonly versions: readonly (VersionRow & { readonly digest: string })[];
  /** New ones only. */
  readonly evidence: readonly EvidenceRow[];
  readonly instances: readonly InstanceRow[];
  readonly targets: readonly TargetRow[];
  readonly subscriptions: readonly SubscriptionRow[];
  readonly ingresses: readonly (TenantKey & IngressRow)[];
  readonly eventSinks: readonly PublishedSink[];
  readonly connectorEvents: readonly PublicationEvent<VersionKey>[];
  readonly subscriptionEvents: readonly PublicationEvent<TenantKey>[];
}

export interface AuditedPublication {
  readonly actor: string;
  readonly detail: object;
}

/**
 * Keeps other publishers away until the end of the transaction; nobody else waits for this lock.
 * @returns false when one of them did not end within `waitMs`
 */
export async function lockPublisher(run: Run, waitMs: number): Promise<boolean> {
  return lock(run, 'publisher', waitMs);
}

/**
 * Waits for everybody who routes by the present revision, and keeps whoever comes later waiting until
 * the end of the transaction.
 * @returns false when they did not end within `waitMs`; the transaction goes on
 */
export async function lockPublication(run: Run, waitMs: number): Promise<boolean> {
  return lock(run, 'publication', waitMs);
}

/**
 * Writes the rows that nobody but a publisher locks. The caller keeps other publishers away; readers
 * see nothing of it before the transaction ends.
 */
export async function writeDefinitions(run: Run, rows: PublicationRows): Promise<void> {
  const statements = publicationStatements;
  if (rows.settings !== null) await writeSettings(run, rows.settings);
  await writeAll(run, statements.connectors, rows.connectors);
  await writeAll(run, statements.versions, rows.versions);
  await writeEvidence(run, rows.evidence);
  await settleEvidence(run, rows);
  await writeAll(run, statements.instances, rows.instances);
  await writeRouting(run, rows);
  await writeAll(run, statements.targets, rows.targets);
  await writeEventSinks(run, rows.eventSinks);
}

/**
 * Writes the rows that hosts, dispatching and routing change, too, and ends the publication as the
 * next revision, which it returns. The caller holds the publication lock.
 */
export async function finishPublication(
  run: Run,
  rows: PublicationRows,
  audited: AuditedPublication,
): Promise<number> {
  const statements = publicationStatements;
  await writeCapacities(run, rows.capacities);
  await writeAll(run, statements.subscriptions, rows.subscriptions);
  await writeAll(run, statements.releaseIngresses, rows.ingresses);
  await writeAll(run, statements.forgetRetired, rows.ingresses);
  await writeAll(run, statements.ingresses, rows.ingresses);
  await writeAll(run, statements.retiredIngresses, rows.ingresses);
  const revision = Number(onlyRow(await run(statements.revision, []))['revision']);
  await writeEvents(run, rows);
  await run(statements.audit, [audited.actor, revision, JSON.stringify(audited.detail)]);
  return revision;
}

async function lock(run: Run, name: 'publisher' | 'publication', waitMs: number): Promise<boolean> {
  return onlyRow(await run(publicationStatements.lock, [name, waitMs]))['taken'] === true;
}

async function writeSettings(run: Run, settings: SettingsRow): Promise<void> {
  const { replayWindowMinutes, defaultRetry, rejectedBytesMinutes, ...routing } = settings;
  const { circuitUnknowns, circuitOpenMs, circuitProbes, trustedSigners } = routing;
  await run(publicationStatements.settings, [
    ...[replayWindowMinutes, JSON.stringify(defaultRetry), rejectedBytesMinutes],
    ...[circuitUnknowns, circuitOpenMs, circuitProbes],
    ...[routing.replicaLeaseMs, routing.replicaHysteresis],
    ...[routing.actionRetentionDays, routing.tombstoneRetentionDays],
    ...[routing.requiredEvidence, trustedSigners && JSON.stringify(trustedSigners)],
    ...[routing.eventRetentionDays, routing.eventHoldDays],
    ...[JSON.stringify(routing.targetAddresses), JSON.stringify(routing.workflowTargets)],
    ...[JSON.stringify(routing.retention), routing.tenantInFlight],
    ...[JSON.stringify(routing.trustedApprovers), routing.approvalTtlMs],
  ]);
}

/** Another policy concerns every version; else only those that are new or spoken of. */
async function settleEvidence(run: Run, rows: PublicationRows): Promise<void> {
  const touched = [...rows.versions, ...rows.evidence];
  if (rows.settings !== null) await projectEvidence(run, null);
  else if (touched.length > 0) await projectEvidence(run, touched);
}

async function writeEvents(run: Run, rows: PublicationRows): Promise<void> {
  const told = ({ name, key, tenant, payload }: PublicationEvent<object>) => ({
    ...key,
    tenant,
    topic: EVENT_TOPICS[name],
    payload,
  });
  const { connectorEvents, subscriptionEvents } = publicationStatements;
  await writeAll(run, connectorEvents, rows.connectorEvents.map(told));
  await writeAll(run, subscriptionEvents, rows.subscriptionEvents.map(told));
}
