/**
 * The documents of a fleet file, one kind each: strict about what people write, and turned into the
 * normal form that the catalog's rows hold. A life-cycle field that is left out (`status`, `state`)
 * is null here and keeps what it is.
 */
import { z } from 'zod';
import { byteSize } from '../byte-sizes';
import { Duration } from '../durations';
import { Name } from '../names';
import { WrittenRetryProfile } from '../retry-profiles';
import { SecretReference } from '../secret-references';
import { SuccessCheck } from '../targets';
import { WebhookScheme } from '../webhook-schemes';
import { IngressSecrets } from './ingress-secrets';

const MAX_BODY_BYTES = 26_214_400;

export const CONNECTOR_STATUSES = [
  'draft',
  'certified',
  'active',
  'deprecated',
  'revoked',
] as const;
export const INSTANCE_STATUSES = ['enabled', 'disabled', 'revoked'] as const;
export const SUBSCRIPTION_STATES = ['active', 'paused', 'deactivated'] as const;

const Text = z.string().trim().min(1, 'must not be empty').max(200);
const Version = z
  .string()
  .regex(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/, 'write a version such as 1.0.0');
const Retry = WrittenRetryProfile.nullable().default(null);

/** The deployment's settings; what is left out keeps its value. */
export const SettingsDocument = z.strictObject({
  kind: z.literal('Settings'),
  replayWindowMinutes: z.int().min(1).max(43_200).optional(),
  defaultRetry: WrittenRetryProfile.optional(),
  rejectedBytesMinutes: z.int().min(1).max(10_080).optional(),
});
export type SettingsDocument = z.infer<typeof SettingsDocument>;

/** One version of a connector. A scheme's name has been replaced by the shipped scheme before. */
export const ConnectorDocument = z.strictObject({
  kind: z.literal('Connector'),
  id: Name,
  name: Text,
  provider: Text,
  /** Null: the platform's, for every tenant; else that tenant's alone. */
  tenant: Name.nullable().default(null),
  version: Version,
  status: z.enum(CONNECTOR_STATUSES).nullable().default(null),
  webhookScheme: WebhookScheme.nullable().default(null),
  retry: Retry,
});
export type ConnectorDocument = z.infer<typeof ConnectorDocument>;

export const InstanceDocument = z.strictObject({
  kind: z.literal('Instance'),
  tenant: Name,
  id: Name,
  connector: Name,
  version: Version,
  grants: z.array(z.enum(['source', 'tool'])).transform((grants) => [...new Set(grants)].sort()),
  status: z.enum(INSTANCE_STATUSES).nullable().default(null),
});
export type InstanceDocument = z.infer<typeof InstanceDocument>;

const Timeout = Duration.pipe(
  z.number().min(100, 'must be at least 100ms').max(240_000, 'must be at most 240s'),
);

const WrittenHttpTarget = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/, error: 'write an http or https address' })
      .max(2000)
      .refine(
        (text) => !/^[^:]*:\/\/[^/?#]*@/.test(text),
        'must hold no user name or password; requests are signed with secretRefs instead',
      ),
    timeout: Timeout.default(10_000),
    secretRefs: z
      .array(SecretReference)
      .max(2, 'at most two: the current secret first, then the previous one')
      .default([]),
    success: SuccessCheck.nullable().default(null),
  })
  .transform(({ url, timeout, secretRefs, success }) => ({
    url,
    timeoutMs: timeout,
    secretRefs,
    success,
  }));

export const TargetDocument = z.strictObject({
  kind: z.literal('Target'),
  tenant: Name,
  id: Name,
  http: WrittenHttpTarget,
});
export type TargetDocument = z.infer<typeof TargetDocument>;

const EventTypes = z
  .array(Text)
  .min(1, "name at least one event type, or '*' for every type")
  .max(200)
  .transform((types) => [...new Set(types)])
  .refine((types) => !types.includes('*') || types.length === 1, "'*' already takes every type");

const Ingress = z
  .strictObject({
    ref: Name.min(8, 'write at least 8 characters; better a long random text, e.g. 16 hex bytes'),
    bodyLimit: byteSize(MAX_BODY_BYTES).default(MAX_BODY_BYTES),
    secrets: IngressSecrets,
  })
  .transform(({ ref, bodyLimit, secrets }) => ({ ref, bodyLimitBytes: bodyLimit, secrets }));

export const SubscriptionDocument = z.strictObject({
  kind: z.literal('Subscription'),
  tenant: Name,
  id: Name,
  instance: Name,
  target: Name,
  eventTypes: EventTypes,
  state: z.enum(SUBSCRIPTION_STATES).nullable().default(null),
  retry: Retry,
  ingress: Ingress.nullable().default(null),
});
export type SubscriptionDocument = z.infer<typeof SubscriptionDocument>;

export const FLEET_DOCUMENTS = {
  Settings: SettingsDocument,
  Connector: ConnectorDocument,
  Instance: InstanceDocument,
  Target: TargetDocument,
  Subscription: SubscriptionDocument,
} as const;

export type FleetKind = keyof typeof FLEET_DOCUMENTS;
export const FLEET_KINDS = Object.keys(FLEET_DOCUMENTS) as FleetKind[];
