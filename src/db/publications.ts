/**
 * Writing a publication: the exclusive lock, one statement a kind of row, the new revision, audit and
 * events. All of it in the transaction of the caller.
 */
import { WaybillError } from '../domain/errors';
import type { EventName } from '../domain/events';
import { EVENT_TOPICS } from '../domain/events';
import type {
  ConnectorRow,
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
import type { RoutingRows } from './routing-publications';
import { writeAll, writeRouting } from './routing-publications';
import { isLockTimeout } from './sqlstates';

export const publicationStatements = {
  lockTimeout: {
    name: 'publication_lock_timeout',
    text: `select set_config('lock_timeout', $1, true)`,
  },
  usualLockTimeout: {
    name: 'publication_usual_lock_timeout',
    text: `select set_config(name, reset_val, true) from pg_settings where name = 'lock_timeout'`,
  },
  lock: {
    name: 'publication_lock',
    text: `select pg_advisory_xact_lock(hashtextextended('waybill.publication', 0))`,
  },
  settings: {
    name: 'publication_settings',
    text: `update waybill.settings set replay_window_minutes = $1, default_retry = $2,
      rejected_bytes_minutes = $3, circuit_unknowns = $4, circuit_open_ms = $5,
      circuit_probes = $6, replica_lease_ms = $7, replica_hysteresis = $8`,
  },
  connectors: {
    name: 'publication_connectors',
    text: `insert into waybill.connectors (connector_id, owner_tenant_id, name, provider)
      select id, tenant, name, provider
        from jsonb_to_recordset($1) as r(id text, tenant text, name text, provider text)`,
  },
  // Of a version that is there only the status can change.
  versions: {
    name: 'publication_versions',
    text: `insert into waybill.connector_versions
        (connector_id, version, status, webhook_scheme, retry_profile, content_digest,
          manifest_digest, rate_limit)
      select connector, version, status, "webhookScheme", retry, digest, "manifestDigest", "rateLimit"
        from jsonb_to_recordset($1) as r(connector text, version text, status text,
          "webhookScheme" jsonb, retry jsonb, digest text, "manifestDigest" text, "rateLimit" jsonb)
      on conflict (connector_id, version) do update set status = excluded.status`,
  },
  instances: {
    name: 'publication_instances',
    text: `insert into waybill.instances
        (tenant_id, instance_id, connector_id, version, status, grants)
      select tenant, id, connector, version, status, grants
        from jsonb_to_recordset($1) as r(tenant text, id text, connector text, version text,
          status text, grants text[])
      on conflict (tenant_id, instance_id) do update
        set version = excluded.version, status = excluded.status, grants = excluded.grants`,
  },
  targets: {
    name: 'publication_targets',
    text: `insert into waybill.targets (tenant_id, target_id, kind, config)
      select tenant, id, case when action is null then 'http' else 'action' end,
          coalesce(action, http)
        from jsonb_to_recordset($1) as r(tenant text, id text, http jsonb, action jsonb)
      on conflict (tenant_id, target_id) do update set config = excluded.config`,
  },
  subscriptions: {
    name: 'publication_subscriptions',
    text: `insert into waybill.subscriptions (tenant_id, subscription_id, instance_id, target_id,
        event_types, retry_profile, state, pause_reason)
      select tenant, id, instance, target, "eventTypes", retry, state, "pauseReason"
        from jsonb_to_recordset($1) as r(tenant text, id text, instance text, target text,
          "eventTypes" text[], retry jsonb, state text, "pauseReason" text)
      on conflict (tenant_id, subscription_id) do update
        set instance_id = excluded.instance_id, target_id = excluded.target_id,
            event_types = excluded.event_types, retry_profile = excluded.retry_profile,
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
  /** New ones only. */
  readonly connectors: readonly ConnectorRow[];
  readonly versions: readonly (VersionRow & { readonly digest: string })[];
  readonly instances: readonly InstanceRow[];
  readonly targets: readonly TargetRow[];
  readonly subscriptions: readonly SubscriptionRow[];
  readonly ingresses: readonly (TenantKey & IngressRow)[];
  readonly connectorEvents: readonly PublicationEvent<VersionKey>[];
  readonly subscriptionEvents: readonly PublicationEvent<TenantKey>[];
}

export interface AuditedPublication {
  readonly actor: string;
  readonly detail: object;
}

/**
 * Takes the exclusive publication lock until the end of the transaction.
 * @throws WaybillError `publication_busy` when others hold it for longer than `timeoutMs`; the
 * transaction is over then
 */
export async function lockPublication(run: Run, timeoutMs: number): Promise<void> {
  await run(publicationStatements.lockTimeout, [String(timeoutMs)]);
  try {
    await run(publicationStatements.lock, []);
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    throw new WaybillError('publication_busy', '', { cause: error });
  }
  await run(publicationStatements.usualLockTimeout, []);
}

/** Writes the rows as the next revision, which it returns. The caller holds the lock. */
export async function writePublication(
  run: Run,
  rows: PublicationRows,
  audited: AuditedPublication,
): Promise<number> {
  await writeRows(run, rows);
  const revision = Number(onlyRow(await run(publicationStatements.revision, []))['revision']);
  await writeEvents(run, rows);
  await run(publicationStatements.audit, [audited.actor, revision, JSON.stringify(audited.detail)]);
  return revision;
}

async function writeRows(run: Run, rows: PublicationRows): Promise<void> {
  const statements = publicationStatements;
  if (rows.settings !== null) {
    const { replayWindowMinutes, defaultRetry, rejectedBytesMinutes, ...routing } = rows.settings;
    const { circuitUnknowns, circuitOpenMs, circuitProbes } = routing;
    await run(statements.settings, [
      ...[replayWindowMinutes, JSON.stringify(defaultRetry), rejectedBytesMinutes],
      ...[circuitUnknowns, circuitOpenMs, circuitProbes],
      ...[routing.replicaLeaseMs, routing.replicaHysteresis],
    ]);
  }
  await writeAll(run, statements.connectors, rows.connectors);
  await writeAll(run, statements.versions, rows.versions);
  await writeAll(run, statements.instances, rows.instances);
  await writeRouting(run, rows);
  await writeAll(run, statements.targets, rows.targets);
  await writeAll(run, statements.subscriptions, rows.subscriptions);
  await writeAll(run, statements.releaseIngresses, rows.ingresses);
  await writeAll(run, statements.ingresses, rows.ingresses);
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
