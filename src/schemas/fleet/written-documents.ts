/**
 * The catalog's rows as people would write them: the document that stands for exactly that row. What
 * means its default is left out, life-cycle fields are always said.
 */
import { z } from 'zod';
import { canonicalJson } from '../canonical-json';
import type {
  BindingRow,
  CapabilityEntry,
  ConnectorRow,
  EvidenceRow,
  InstanceRow,
  QuotaPolicyRow,
  ReplicaRow,
  SettingsRow,
  SubscriptionRow,
  TargetRow,
  VersionRow,
} from '../catalog-rows';
import { durationText } from '../durations';
import type { EventSinkRow } from '../event-rows';
import { RetryProfile } from '../retry-profiles';
import type { ShippedSchemes } from '../shipped-schemes';
import {
  ActionTarget,
  DEFAULT_TARGET_FLOW,
  EventTarget,
  HttpTarget,
  WorkflowTarget,
} from '../targets';
import type { TargetFlow } from '../targets';
import { writtenOutbound } from './written-outbound';

/** A document in the order in which its fields are written; undefined ones are left out. */
export type WrittenDocument = Readonly<Record<string, unknown>>;

export function writtenSettings(row: SettingsRow): WrittenDocument {
  const { replayWindowMinutes, rejectedBytesMinutes, circuitUnknowns, circuitProbes } = row;
  const { replicaHysteresis, actionRetentionDays, tombstoneRetentionDays } = row;
  return {
    kind: 'Settings',
    ...{ replayWindowMinutes, defaultRetry: writtenRetry(row.defaultRetry), rejectedBytesMinutes },
    ...{ circuitUnknowns, circuitOpen: durationText(row.circuitOpenMs), circuitProbes },
    ...{ replicaLease: durationText(row.replicaLeaseMs), replicaHysteresis },
    ...{ actionRetentionDays, tombstoneRetentionDays },
    ...{ eventRetentionDays: row.eventRetentionDays, eventHoldDays: row.eventHoldDays },
    targetAddresses: row.targetAddresses,
    workflowTargets: row.workflowTargets.map(({ taskQueue, workflowType, tenants }) => ({
      ...{ taskQueue, type: workflowType, tenants: tenants ?? undefined },
    })),
    ...{ retention: row.retention, tenantInFlight: row.tenantInFlight },
    // Null says something here: a file without the field would leave what it is then.
    ...{ requiredEvidence: row.requiredEvidence, trustedSigners: row.trustedSigners },
    trustedApprovers: Object.fromEntries(
      Object.entries(row.trustedApprovers).map(([name, { keys, tenants }]) => [
        name,
        { keys, tenants: tenants ?? undefined },
      ]),
    ),
    approvalTtl: durationText(row.approvalTtlMs),
  };
}

export function writtenCapability(row: CapabilityEntry): WrittenDocument {
  const { id, sideEffect, recovery, requestSchema, resultSchema, timeoutMs } = row;
  return {
    ...{ kind: 'Capability', id, interface: row.interface, sideEffect, recovery },
    ...{ timeout: durationText(timeoutMs), requestSchema, resultSchema },
  };
}

const RateLimit = z.object({ permits: z.number(), perMs: z.number(), burst: z.number() });

/** @param schemes a scheme that comes with Waybill is written by its name */
export function writtenConnector(
  { id, name, provider, tenant, enabled }: ConnectorRow,
  row: VersionRow,
  schemes: ShippedSchemes,
): WrittenDocument {
  const { version, status, webhookScheme, retry, manifestDigest, capabilities, profiles } = row;
  const scheme = canonicalJson(webhookScheme);
  const shipped = [...schemes].find(([, known]) => canonicalJson(known) === scheme)?.[0];
  const rate = RateLimit.nullable().parse(row.rateLimit);
  return {
    ...{ kind: 'Connector', id, name, provider, tenant: tenant ?? undefined, enabled },
    ...{ version, status, webhookScheme: shipped ?? webhookScheme ?? undefined },
    ...{ retry: writtenRetry(retry), adapterRef: row.adapterRef ?? undefined },
    configurationForm: row.configurationForm ?? undefined,
    ...{ releaseId: row.releaseId ?? undefined, artifactDigest: row.artifactDigest ?? undefined },
    manifestDigest: manifestDigest ?? undefined,
    ...{ capabilities: unlessEmpty(capabilities), profiles: unlessEmpty(profiles) },
    rateLimit:
      rate === null
        ? undefined
        : { permits: rate.permits, per: durationText(rate.perMs), burst: rate.burst },
    outbound: writtenOutbound(row.outbound),
  };
}

export function writtenEvidence({ id, statement }: EvidenceRow): WrittenDocument {
  return { kind: 'Evidence', id, statement };
}

export function writtenQuotaPolicy({ id, limits }: QuotaPolicyRow): WrittenDocument {
  return { kind: 'QuotaPolicy', id, limits: withoutNulls(limits) };
}

export function writtenInstance(row: InstanceRow): WrittenDocument {
  const { tenant, id, connector, version, grants, status, config, configRevision } = row;
  const credentials = Object.entries(row.credentials)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([revision, state]) => ({ revision, status: state }));
  return {
    ...{ kind: 'Instance', tenant, id, connector, version, grants, status },
    ...{ config: config ?? undefined, secretRef: row.secretRef ?? undefined },
    ...{ signingSecretRefs: unlessEmpty(row.signingSecretRefs), configRevision },
    credentials: unlessEmpty(credentials),
  };
}

export function writtenBinding(row: BindingRow): WrittenDocument {
  const { tenant, capability, instance, priority, enabled, spill, spread } = row;
  const { policyRevision, credentialRevision, quotaPolicy } = row;
  return {
    ...{ kind: 'Binding', tenant, capability, instance, credentialRevision, priority, enabled },
    ...{ spill, spread, approval: row.approvalRequired ? 'required' : undefined },
    ...{ policyRevision, quotaPolicy: quotaPolicy ?? undefined },
  };
}

export function writtenReplica(row: ReplicaRow): WrittenDocument {
  const { tenant, id, instance, version, endpoint, transport, peer, trustDomain } = row;
  const { region, zone, capacityClass, capacity } = row;
  return {
    ...{ kind: 'Replica', tenant, id, instance, version, endpoint, transport, peer, trustDomain },
    ...{ region, zone, capacityClass, capacity },
  };
}

export function writtenTarget(row: TargetRow): WrittenDocument {
  const { tenant, id } = row;
  const http = HttpTarget.nullable().parse(row.http);
  const action = ActionTarget.nullable().parse(row.action);
  const workflow = WorkflowTarget.nullable().parse(row.workflow);
  const event = EventTarget.nullable().parse(row.event);
  return {
    ...{ kind: 'Target', tenant, id },
    ...(http && {
      http: {
        ...{ url: http.url, timeout: durationText(http.timeoutMs) },
        ...{ secretRefs: unlessEmpty(http.secretRefs), success: http.success ?? undefined },
      },
    }),
    ...(action && {
      action: {
        ...{ capability: action.capabilityId, request: action.request ?? undefined },
        affinity: action.affinity ?? undefined,
      },
    }),
    ...(workflow && {
      workflow: {
        ...{ taskQueue: workflow.taskQueue, type: workflow.workflowType },
        signal: workflow.signal ?? undefined,
      },
    }),
    ...(event && { event: {} }),
    ...writtenFlow(row.flow),
  };
}

function writtenFlow(flow: TargetFlow): WrittenDocument {
  const { drainPerSecond, maxInFlight, breakerFailures, breakerOpenMs } = flow;
  const usual = DEFAULT_TARGET_FLOW;
  const sameBreaker =
    breakerFailures === usual.breakerFailures && breakerOpenMs === usual.breakerOpenMs;
  return {
    drainPerSecond: drainPerSecond === usual.drainPerSecond ? undefined : drainPerSecond,
    maxInFlight: maxInFlight === usual.maxInFlight ? undefined : maxInFlight,
    breaker: sameBreaker
      ? undefined
      : { failures: breakerFailures, open: durationText(breakerOpenMs) },
  };
}

const Secrets = z.array(
  z.object({
    id: z.string(),
    ref: z.string(),
    notBefore: z.string().nullable(),
    notAfter: z.string().nullable(),
  }),
);

export function writtenSubscription(row: SubscriptionRow): WrittenDocument {
  const { tenant, id, instance, target, eventTypes, state, retry, ingress } = row;
  return {
    ...{ kind: 'Subscription', tenant, id, instance, target, eventTypes, state },
    retry: writtenRetry(retry),
    lane: row.lane === 'durable' ? undefined : row.lane,
    drainPerSecond: row.drainPerSecond ?? undefined,
    ...(ingress && {
      ingress: {
        ...{ ref: ingress.ref, bodyLimit: ingress.bodyLimitBytes },
        secrets: Secrets.parse(ingress.secrets).map(withoutNulls),
        previous: unlessEmpty(ingress.previous),
      },
    }),
  };
}

export function writtenEventSink(row: EventSinkRow): WrittenDocument {
  const { tenant, id, url, timeoutMs, topics, secretRefs, state } = row;
  return {
    ...{ kind: 'EventSink', tenant, id, url, timeout: durationText(timeoutMs) },
    ...{ types: topics, secretRefs, state },
  };
}

/** As a fleet file writes a profile; undefined for null. */
export function writtenRetry(row: unknown): object | undefined {
  const profile = RetryProfile.nullable().parse(row);
  if (profile === null) return undefined;
  const { attempts, backoff, jitter, totalSpanMs, retryAfterCapMs } = profile;
  return {
    attempts,
    ...(backoff.kind === 'exponential'
      ? {
          backoff: 'exponential',
          ...{ base: durationText(backoff.baseMs), max: durationText(backoff.maxMs) },
        }
      : { backoff: backoff.delaysMs.map(durationText) }),
    jitter,
    ...(totalSpanMs === null ? {} : { totalSpan: durationText(totalSpanMs) }),
    retryAfterCap: durationText(retryAfterCapMs),
  };
}

function withoutNulls(group: object): object {
  return Object.fromEntries(Object.entries(group).filter(([, value]) => value !== null));
}

function unlessEmpty<Item>(list: readonly Item[]): readonly Item[] | undefined {
  return list.length === 0 ? undefined : list;
}
