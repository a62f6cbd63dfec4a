/** The rows that documents stand for; what a document leaves open stays as it is published. */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../schemas/canonical-json';
import type {
  BindingRow,
  CapabilityEntry,
  EvidenceRow,
  InstanceRow,
  ReplicaRow,
  SettingsRow,
  TargetRow,
  VersionRow,
} from '../../schemas/catalog-rows';
import type { BindingDocument, CapabilityDocument } from '../../schemas/fleet/action-documents';
import type {
  ConnectorDocument,
  InstanceDocument,
  SettingsDocument,
} from '../../schemas/fleet/documents';
import type { EvidenceDocument } from '../../schemas/fleet/evidence-documents';
import type { ReplicaDocument } from '../../schemas/fleet/replica-documents';
import type { TargetDocument } from '../../schemas/fleet/target-documents';
import type { Published } from './catalog-view';
import { keyOf, versionKey } from './catalog-view';

export function settingsRow(thing: SettingsDocument, before: SettingsRow): SettingsRow {
  return {
    replayWindowMinutes: thing.replayWindowMinutes ?? before.replayWindowMinutes,
    defaultRetry:
      thing.defaultRetry === undefined ? before.defaultRetry : asJson(thing.defaultRetry),
    rejectedBytesMinutes: thing.rejectedBytesMinutes ?? before.rejectedBytesMinutes,
    circuitUnknowns: thing.circuitUnknowns ?? before.circuitUnknowns,
    circuitOpenMs: thing.circuitOpen ?? before.circuitOpenMs,
    circuitProbes: thing.circuitProbes ?? before.circuitProbes,
    replicaLeaseMs: thing.replicaLease ?? before.replicaLeaseMs,
    replicaHysteresis: thing.replicaHysteresis ?? before.replicaHysteresis,
    actionRetentionDays: thing.actionRetentionDays ?? before.actionRetentionDays,
    tombstoneRetentionDays: thing.tombstoneRetentionDays ?? before.tombstoneRetentionDays,
    eventRetentionDays: thing.eventRetentionDays ?? before.eventRetentionDays,
    eventHoldDays: thing.eventHoldDays ?? before.eventHoldDays,
    targetAddresses: thing.targetAddresses ?? before.targetAddresses,
    workflowTargets: thing.workflowTargets ?? before.workflowTargets,
    retention: thing.retention ?? before.retention,
    tenantInFlight: thing.tenantInFlight ?? before.tenantInFlight,
    requiredEvidence: thing.requiredEvidence ?? before.requiredEvidence,
    trustedSigners:
      thing.trustedSigners === undefined ? before.trustedSigners : thing.trustedSigners,
    trustedApprovers: thing.trustedApprovers ?? before.trustedApprovers,
    approvalTtlMs: thing.approvalTtl ?? before.approvalTtlMs,
  };
}

export function capabilityEntry(thing: CapabilityDocument): CapabilityEntry {
  const { id, sideEffect, recovery } = thing;
  return {
    ...{ id, interface: thing.interface, sideEffect, recovery },
    requestSchema: asJson(thing.requestSchema),
    resultSchema: asJson(thing.resultSchema),
    timeoutMs: thing.timeout,
  };
}

/**
 * SHA-256 (hex) of the canonical JSON of what caller and connector agree on, in the words of its port:
 * all but how long Waybill waits.
 */
export function contractDigest(entry: CapabilityEntry): string {
  const { id, sideEffect, recovery, requestSchema, resultSchema } = entry;
  const contract = { sideEffect, recovery, requestSchema, resultSchema };
  return sha256(canonicalJson({ capabilityId: id, interfaceName: entry.interface, ...contract }));
}

/** A status that the document leaves out stays, and is `active` for a new version. */
export function versionRow(thing: ConnectorDocument, published: Published): VersionRow {
  const key = { connector: thing.id, version: thing.version };
  const before = published.versions.get(versionKey(key));
  const { artifactDigest, manifestDigest, capabilities, profiles, rateLimit } = thing;
  const { adapterRef, releaseId } = thing;
  return {
    ...key,
    status: thing.status ?? before?.status ?? 'active',
    webhookScheme: asJson(thing.webhookScheme),
    retry: asJson(thing.retry),
    ...{ adapterRef, configurationForm: asJson(thing.configurationForm), releaseId },
    ...{ artifactDigest, manifestDigest, capabilities, profiles, rateLimit },
    outbound: asJson(thing.outbound),
  };
}

/** Everything of a version that never changes: all but its key and its status. */
export function versionContent(
  row: VersionRow,
): Omit<VersionRow, 'connector' | 'version' | 'status'> {
  const { webhookScheme, retry, artifactDigest, manifestDigest } = row;
  const { adapterRef, configurationForm, releaseId, capabilities, profiles, rateLimit, outbound } =
    row;
  return {
    ...{ webhookScheme, retry, adapterRef, configurationForm, releaseId },
    ...{ artifactDigest, manifestDigest },
    ...{ capabilities, profiles, rateLimit, outbound },
  };
}

/** SHA-256 (hex) over everything of a version that never changes. */
export function versionDigest(row: VersionRow): string {
  const { connector, version } = row;
  return sha256(canonicalJson({ connector, version, ...versionContent(row) }));
}

export function evidenceRow({ id, statement }: EvidenceDocument): EvidenceRow {
  const { connector, version, kind, artifactDigest, manifestDigest } = statement;
  const { contentDigest, contentRef, verdict, signer, issuedAt, expiresAt, jws } = statement;
  return {
    ...{ id, connector, version, kind, artifactDigest, manifestDigest, contentDigest, contentRef },
    ...{ verdict, signer, issuedAtMs: Date.parse(issuedAt) },
    ...{ expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt), statement: jws },
  };
}

/**
 * A status that the document leaves out stays, and is `enabled` for a new instance; credentials that
 * it does not name stay, too.
 */
export function instanceRow(thing: InstanceDocument, published: Published): InstanceRow {
  const { tenant, id, connector, version, grants, secretRef, configRevision } = thing;
  const before = published.instances.get(keyOf(thing));
  const known = new Map(Object.entries(before?.credentials ?? {}));
  const written = thing.credentials.map(
    ({ revision, status }) => [revision, status ?? known.get(revision) ?? 'active'] as const,
  );
  return {
    ...{ tenant, id, connector, version, grants },
    status: thing.status ?? before?.status ?? 'enabled',
    config: asJson(thing.config),
    ...{ secretRef, signingSecretRefs: thing.signingSecretRefs, configRevision },
    credentials: Object.fromEntries([...known, ...written]),
  };
}

export function bindingRow(thing: BindingDocument): BindingRow {
  const { tenant, capability, instance, priority, enabled, spill, spread } = thing;
  const { policyRevision, credentialRevision, quotaPolicy } = thing;
  return {
    ...{ tenant, capability, instance, priority, enabled, spill, spread },
    approvalRequired: thing.approval === 'required',
    ...{ policyRevision, credentialRevision, quotaPolicy },
  };
}

/** A version that the document leaves out stays, and is the instance's for a new replica. */
export function replicaRow(
  thing: ReplicaDocument,
  before: ReplicaRow | undefined,
  instance: InstanceRow | undefined,
): ReplicaRow {
  const { tenant, id, endpoint, peer, trustDomain, transport } = thing;
  const { region, zone, capacityClass, capacity } = thing;
  return {
    ...{ tenant, id, instance: thing.instance, endpoint, trustDomain, transport },
    connector: instance?.connector ?? before?.connector ?? '',
    version: thing.version ?? before?.version ?? instance?.version ?? '',
    peer: { ...peer, principalId: peer.principalId ?? id },
    ...{ region, zone, capacityClass, capacity },
  };
}

export function targetRow(thing: TargetDocument): TargetRow {
  const { tenant, id, http, action, workflow, event } = thing;
  const { drainPerSecond, maxInFlight, breaker } = thing;
  return {
    ...{ tenant, id, http: asJson(http), action: asJson(action) },
    ...{ workflow: asJson(workflow), event: asJson(event) },
    flow: {
      ...{ drainPerSecond, maxInFlight },
      ...{ breakerFailures: breaker.failures, breakerOpenMs: breaker.open },
    },
  };
}

/** What JSON keeps of a value: a field that is undefined is not there. */
export function asJson(value: unknown): VersionRow['retry'] {
  return JSON.parse(JSON.stringify(value)) as VersionRow['retry'];
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
