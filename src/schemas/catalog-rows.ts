/**
 * The catalog's rows as a publication reads and writes them. Schemes, profiles and target
 * configurations stay plain JSON here: they are compared and stored, and parsed where they are used.
 */
import { z } from 'zod';
import { RECOVERIES, SIDE_EFFECTS } from '../domain/capabilities';
import { CONNECTOR_STATUSES } from '../domain/connector-states';
import { LANES } from '../domain/lanes';
import { TRANSPORTS } from '../domain/routes';
import { EVIDENCE_KINDS, EvidenceKey, REQUIRABLE_KINDS, VERDICTS } from './evidence-statements';
import { SPILLS } from './fleet/action-documents';
import { CREDENTIAL_STATUSES } from './fleet/credentials';
import { INSTANCE_STATUSES, SUBSCRIPTION_STATES } from './fleet/documents';
import { Retention } from './retention';
import { AddressPolicy } from './target-addresses';
import { TrustedApprovers } from './trusted-approvers';
import { AllowedWorkflow, TargetFlow } from './targets';

const Json = z.json();

export const SettingsRow = z.object({
  replayWindowMinutes: z.number(),
  defaultRetry: Json,
  rejectedBytesMinutes: z.number(),
  circuitUnknowns: z.number(),
  circuitOpenMs: z.number(),
  circuitProbes: z.number(),
  replicaLeaseMs: z.number(),
  replicaHysteresis: z.number(),
  actionRetentionDays: z.number(),
  tombstoneRetentionDays: z.number(),
  eventRetentionDays: z.number(),
  eventHoldDays: z.number(),
  targetAddresses: AddressPolicy,
  workflowTargets: z.array(AllowedWorkflow),
  retention: Retention,
  tenantInFlight: z.number(),
  /** Sorted. */
  requiredEvidence: z.array(z.enum(REQUIRABLE_KINDS)),
  /** Public keys by name; null: whoever signed, counts. */
  trustedSigners: z.record(z.string(), EvidenceKey).nullable(),
  trustedApprovers: TrustedApprovers,
  approvalTtlMs: z.number(),
});
export type SettingsRow = z.infer<typeof SettingsRow>;

export const CatalogHead = z.object({
  revision: z.number(),
  settings: SettingsRow,
  /** The database's clock, ms since the epoch. */
  nowMs: z.number(),
});
export type CatalogHead = z.infer<typeof CatalogHead>;

export const CapabilityEntry = z.object({
  id: z.string(),
  interface: z.string(),
  sideEffect: z.enum(SIDE_EFFECTS),
  recovery: z.enum(RECOVERIES),
  requestSchema: Json,
  resultSchema: Json,
  timeoutMs: z.number(),
});
export type CapabilityEntry = z.infer<typeof CapabilityEntry>;

export const ConnectorRow = z.object({
  id: z.string(),
  name: z.string(),
  provider: z.string(),
  /** The tenant that owns it; null for the platform's. */
  tenant: z.string().nullable(),
  enabled: z.boolean(),
});
export type ConnectorRow = z.infer<typeof ConnectorRow>;

export const VersionRow = z.object({
  connector: z.string(),
  version: z.string(),
  status: z.enum(CONNECTOR_STATUSES),
  webhookScheme: Json,
  retry: Json,
  adapterRef: Json,
  configurationForm: Json,
  releaseId: z.string().nullable(),
  artifactDigest: z.string().nullable(),
  manifestDigest: z.string().nullable(),
  /** Ids, sorted. */
  capabilities: z.array(z.string()),
  /** Names, sorted. */
  profiles: z.array(z.string()),
  rateLimit: Json,
  /** What can be sent, by operation; null: nothing. */
  outbound: Json,
});
export type VersionRow = z.infer<typeof VersionRow>;

/** One statement of a signer; instants in ms since the epoch. */
export const EvidenceRow = z.object({
  id: z.string(),
  connector: z.string(),
  version: z.string(),
  kind: z.enum(EVIDENCE_KINDS),
  artifactDigest: z.string(),
  manifestDigest: z.string().nullable(),
  contentDigest: z.string(),
  contentRef: z.string().nullable(),
  verdict: z.enum(VERDICTS),
  signer: z.string(),
  issuedAtMs: z.number(),
  expiresAtMs: z.number().nullable(),
  statement: z.string(),
});
export type EvidenceRow = z.infer<typeof EvidenceRow>;

const QuotaLimit = z.number().nullable();

export const QuotaPolicyRow = z.object({
  id: z.string(),
  limits: z.object({
    binding: QuotaLimit,
    instance: QuotaLimit,
    connector: QuotaLimit,
    tenantRetry: QuotaLimit,
    tenant: QuotaLimit,
    global: QuotaLimit,
  }),
});
export type QuotaPolicyRow = z.infer<typeof QuotaPolicyRow>;

export const InstanceRow = z.object({
  tenant: z.string(),
  id: z.string(),
  connector: z.string(),
  version: z.string(),
  grants: z.array(z.string()),
  status: z.enum(INSTANCE_STATUSES),
  config: Json,
  secretRef: z.string().nullable(),
  signingSecretRefs: z.array(z.string()),
  configRevision: z.number(),
  /** State by revision. */
  credentials: z.record(z.string(), z.enum(CREDENTIAL_STATUSES)),
});
export type InstanceRow = z.infer<typeof InstanceRow>;

/** An instance with what depends on it. */
export const PublishedInstance = InstanceRow.extend({
  /** Whether a subscription that is not deactivated uses it. */
  subscribed: z.boolean(),
  /** Whether one of its subscriptions has an ingress. */
  receives: z.boolean(),
  /** Whether a connector version is put to the conformance suite on it now. */
  certifying: z.boolean(),
});
export type PublishedInstance = z.infer<typeof PublishedInstance>;

export const BindingRow = z.object({
  tenant: z.string(),
  capability: z.string(),
  instance: z.string(),
  priority: z.number(),
  enabled: z.boolean(),
  spill: z.enum(SPILLS),
  spread: z.boolean(),
  approvalRequired: z.boolean(),
  policyRevision: z.number(),
  credentialRevision: z.string(),
  quotaPolicy: z.string().nullable(),
});
export type BindingRow = z.infer<typeof BindingRow>;

/** What a publication says of a replica; its lease, health and load are not the catalog's. */
export const ReplicaRow = z.object({
  tenant: z.string(),
  id: z.string(),
  instance: z.string(),
  connector: z.string(),
  version: z.string(),
  endpoint: z.string(),
  peer: z.object({ did: z.string(), principalId: z.string(), principalKind: z.string() }),
  trustDomain: z.string(),
  transport: z.enum(TRANSPORTS),
  region: z.string(),
  zone: z.string(),
  capacityClass: z.string(),
  capacity: z.number(),
});
export type ReplicaRow = z.infer<typeof ReplicaRow>;

/** The configuration of its kind; the others are null. */
export const TargetRow = z.object({
  tenant: z.string(),
  id: z.string(),
  http: Json,
  action: Json,
  workflow: Json,
  event: Json,
  flow: TargetFlow,
});
export type TargetRow = z.infer<typeof TargetRow>;

export const IngressRow = z.object({
  ref: z.string(),
  bodyLimitBytes: z.number(),
  secrets: Json,
  /** References that it had before, and until when each leads to it; the newest end first. */
  previous: z.array(z.object({ ref: z.string(), until: z.string() })),
});
export type IngressRow = z.infer<typeof IngressRow>;

export const SubscriptionRow = z.object({
  tenant: z.string(),
  id: z.string(),
  instance: z.string(),
  target: z.string(),
  eventTypes: z.array(z.string()),
  retry: Json,
  lane: z.enum(LANES),
  /** Null: its target's rate alone. */
  drainPerSecond: z.number().nullable(),
  state: z.enum(SUBSCRIPTION_STATES),
  pauseReason: z.string().nullable(),
  ingress: IngressRow.nullable(),
});
export type SubscriptionRow = z.infer<typeof SubscriptionRow>;

export const IngressOwner = z.object({ ref: z.string(), tenant: z.string(), id: z.string() });
export type IngressOwner = z.infer<typeof IngressOwner>;

export interface TenantKey {
  readonly tenant: string;
  readonly id: string;
}

export interface BindingKey {
  readonly tenant: string;
  readonly capability: string;
  readonly instance: string;
}

export interface VersionKey {
  readonly connector: string;
  readonly version: string;
}
