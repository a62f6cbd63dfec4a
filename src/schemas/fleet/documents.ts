/**
 * The documents of a fleet file, one kind each: strict about what people write, and turned into the
 * normal form that the catalog's rows hold. A life-cycle field that is left out (`status`, `state`,
 * `enabled` of a connector) is null here and keeps what it is.
 */
import { z } from 'zod';
import { CONNECTOR_STATUSES } from '../../domain/connector-states';
import { LANES } from '../../domain/lanes';
import { byteSize } from '../byte-sizes';
import { Duration } from '../durations';
import { Name } from '../names';
import { WrittenRetryProfile } from '../retry-profiles';
import { WrittenAddressPolicy } from '../target-addresses';
import { WrittenRetention } from '../retention';
import { SecretReference } from '../secret-references';
import { WebhookScheme } from '../webhook-schemes';
import { BindingDocument, CapabilityDocument, QuotaPolicyDocument } from './action-documents';
import { WrittenApprovers } from './approver-documents';
import { Credentials } from './credentials';
import { EventSinkDocument } from './event-sink-documents';
import { EvidenceDocument, RequiredEvidence, TrustedSigners } from './evidence-documents';
import { IngressSecrets, WrittenInstant } from './ingress-secrets';
import { InstanceConfig } from './instance-configs';
import { JsonSchema } from './json-schemas';
import type { Placed } from './mistakes';
import { OutboundDocument } from './outbound-documents';
import { ReplicaDocument } from './replica-documents';
import { TargetDocument } from './target-documents';
import { Sha256, Text, Version } from './texts';
import { WrittenAllowedWorkflows } from './workflow-documents';

const MAX_BODY_BYTES = 26_214_400;

/** Of one ingress; whoever rotates more often loses the oldest. */
export const MAX_PREVIOUS_INGRESSES = 10;

export const INSTANCE_STATUSES = ['enabled', 'disabled', 'revoked'] as const;
export const SUBSCRIPTION_STATES = ['active', 'paused', 'deactivated'] as const;

const Retry = WrittenRetryProfile.nullable().default(null);

/** The deployment's settings; what is left out keeps its value. */
export const SettingsDocument = z.strictObject({
  kind: z.literal('Settings'),
  replayWindowMinutes: z.int().min(1).max(43_200).optional(),
  defaultRetry: WrittenRetryProfile.optional(),
  rejectedBytesMinutes: z.int().min(1).max(10_080).optional(),
  circuitUnknowns: z.int().min(0).max(1000).optional(),
  circuitOpen: between('100ms', '1h').optional(),
  circuitProbes: z.int().min(1).max(100).optional(),
  replicaLease: between('1s', '10m').optional(),
  replicaHysteresis: z.int().min(1).max(20).optional(),
  actionRetentionDays: z.int().min(1).max(3_650).optional(),
  tombstoneRetentionDays: z.int().min(1).max(36_500).optional(),
  eventRetentionDays: z.int().min(1).max(3_650).optional(),
  eventHoldDays: z.int().min(1).max(3_650).optional(),
  targetAddresses: WrittenAddressPolicy.optional(),
  workflowTargets: WrittenAllowedWorkflows.optional(),
  retention: WrittenRetention.optional(),
  tenantInFlight: z.int().min(1).max(10_000).optional(),
  requiredEvidence: RequiredEvidence.optional(),
  trustedSigners: TrustedSigners.optional(),
  trustedApprovers: WrittenApprovers.optional(),
  approvalTtl: between('1s', '30d').optional(),
});
export type SettingsDocument = z.infer<typeof SettingsDocument>;

const RateLimit = z
  .strictObject({
    permits: z.int().min(1).max(1_000_000),
    per: between('1ms', '1d'),
    burst: z.int().min(1).max(1_000_000),
  })
  .transform(({ permits, per, burst }) => ({ permits, perMs: per, burst }));

const AdapterRef = z.strictObject({
  /** `host`: connector hosts of its own; `http`: Waybill's generic HTTP adapter. */
  kind: z.enum(['host', 'http']),
  /** Of the library or program. */
  name: Text,
  version: Version,
});

/** One version of a connector. A scheme's name has been replaced by the shipped scheme before. */
export const ConnectorDocument = z
  .strictObject({
    kind: z.literal('Connector'),
    id: Name,
    name: Text,
    provider: Text,
    /** Null: the platform's, for every tenant; else that tenant's alone. */
    tenant: Name.nullable().default(null),
    /** Of the connector, in all of its versions. */
    enabled: z.boolean().nullable().default(null),
    version: Version,
    status: z.enum(CONNECTOR_STATUSES).nullable().default(null),
    webhookScheme: WebhookScheme.nullable().default(null),
    retry: Retry,
    /** What acts at the provider; a change of it is a change of the version. */
    adapterRef: AdapterRef.nullable().default(null),
    /** JSON Schema of an instance's `config`. */
    configurationForm: JsonSchema.nullable().default(null),
    releaseId: Text.nullable().default(null),
    artifactDigest: Sha256.nullable().default(null),
    manifestDigest: Sha256.nullable().default(null),
    capabilities: z
      .array(Name)
      .max(1000)
      .default([])
      .transform((ids) => [...new Set(ids)].sort()),
    profiles: z
      .array(Name)
      .max(100)
      .default([])
      .transform((names) => [...new Set(names)].sort()),
    rateLimit: RateLimit.nullable().default(null),
    outbound: OutboundDocument,
  })
  .refine(
    ({ capabilities, manifestDigest }) => capabilities.length === 0 || manifestDigest !== null,
    {
      path: ['manifestDigest'],
      error: 'is missing; a version with capabilities needs the digest of its manifest',
    },
  );
export type ConnectorDocument = z.infer<typeof ConnectorDocument>;

export const InstanceDocument = z.strictObject({
  kind: z.literal('Instance'),
  tenant: Name,
  id: Name,
  connector: Name,
  version: Version,
  grants: z.array(z.enum(['source', 'tool'])).transform((grants) => [...new Set(grants)].sort()),
  status: z.enum(INSTANCE_STATUSES).nullable().default(null),
  config: InstanceConfig.nullable().default(null),
  secretRef: SecretReference.nullable().default(null),
  /** Whose signatures what is sent carries; the newest first. */
  signingSecretRefs: z
    .array(SecretReference)
    .max(2, 'at most two: the current secret first, then the previous one')
    .default([]),
  configRevision: z.int().min(1).max(Number.MAX_SAFE_INTEGER).default(1),
  credentials: Credentials.default([]),
});
export type InstanceDocument = z.infer<typeof InstanceDocument>;

const EventTypes = z
  .array(Text)
  .min(1, "name at least one event type, or '*' for every type")
  .max(200)
  .transform((types) => [...new Set(types)])
  .refine((types) => !types.includes('*') || types.length === 1, "'*' already takes every type");

const IngressRef = Name.min(
  8,
  'write at least 8 characters; better a long random text, e.g. 16 hex bytes',
);

/** References that still lead to the ingress, each until a time. */
const PreviousIngresses = z
  .array(z.strictObject({ ref: IngressRef, until: WrittenInstant }))
  .max(MAX_PREVIOUS_INGRESSES)
  .default([])
  .transform((list) =>
    [...list].sort((one, other) =>
      one.until === other.until
        ? Number(one.ref > other.ref) - Number(one.ref < other.ref)
        : Number(one.until < other.until) - Number(one.until > other.until),
    ),
  );

const Ingress = z
  .strictObject({
    ref: IngressRef,
    bodyLimit: byteSize(MAX_BODY_BYTES).default(MAX_BODY_BYTES),
    secrets: IngressSecrets,
    previous: PreviousIngresses,
  })
  .transform(({ bodyLimit, ...rest }) => ({ ...rest, bodyLimitBytes: bodyLimit }));

export const SubscriptionDocument = z.strictObject({
  kind: z.literal('Subscription'),
  tenant: Name,
  id: Name,
  instance: Name,
  target: Name,
  eventTypes: EventTypes,
  state: z.enum(SUBSCRIPTION_STATES).nullable().default(null),
  retry: Retry,
  lane: z.enum(LANES).default('durable'),
  drainPerSecond: z.number().min(0.001).max(1000).nullable().default(null),
  ingress: Ingress.nullable().default(null),
});
export type SubscriptionDocument = z.infer<typeof SubscriptionDocument>;

export const FLEET_DOCUMENTS = {
  Settings: SettingsDocument,
  Capability: CapabilityDocument,
  Connector: ConnectorDocument,
  Evidence: EvidenceDocument,
  QuotaPolicy: QuotaPolicyDocument,
  Instance: InstanceDocument,
  Binding: BindingDocument,
  Replica: ReplicaDocument,
  Target: TargetDocument,
  Subscription: SubscriptionDocument,
  EventSink: EventSinkDocument,
} as const;

export type FleetKind = keyof typeof FLEET_DOCUMENTS;
export const FLEET_KINDS = Object.keys(FLEET_DOCUMENTS) as FleetKind[];

/** The documents of a file, each with its place, in the order of the file. */
export interface FleetDocuments {
  readonly settings: readonly Placed<SettingsDocument>[];
  readonly capabilities: readonly Placed<CapabilityDocument>[];
  readonly connectors: readonly Placed<ConnectorDocument>[];
  readonly evidence: readonly Placed<EvidenceDocument>[];
  readonly quotaPolicies: readonly Placed<QuotaPolicyDocument>[];
  readonly instances: readonly Placed<InstanceDocument>[];
  readonly bindings: readonly Placed<BindingDocument>[];
  readonly replicas: readonly Placed<ReplicaDocument>[];
  readonly targets: readonly Placed<TargetDocument>[];
  readonly subscriptions: readonly Placed<SubscriptionDocument>[];
  readonly eventSinks: readonly Placed<EventSinkDocument>[];
}

/** A duration within bounds, written like itself. */
function between(least: string, most: string) {
  return Duration.pipe(
    z
      .number()
      .min(Duration.parse(least), `must be at least ${least}`)
      .max(Duration.parse(most), `must be at most ${most}`),
  );
}
