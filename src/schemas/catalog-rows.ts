/**
 * The catalog's rows as a publication reads and writes them. Schemes, profiles and target
 * configurations stay plain JSON here: they are compared and stored, and parsed where they are used.
 */
import { z } from 'zod';
import { CONNECTOR_STATUSES, INSTANCE_STATUSES, SUBSCRIPTION_STATES } from './fleet/documents';

const Json = z.json();

export const SettingsRow = z.object({
  replayWindowMinutes: z.number(),
  defaultRetry: Json,
  rejectedBytesMinutes: z.number(),
});
export type SettingsRow = z.infer<typeof SettingsRow>;

export const CatalogHead = z.object({ revision: z.number(), settings: SettingsRow });
export type CatalogHead = z.infer<typeof CatalogHead>;

export const ConnectorRow = z.object({
  id: z.string(),
  name: z.string(),
  provider: z.string(),
  /** The tenant that owns it; null for the platform's. */
  tenant: z.string().nullable(),
});
export type ConnectorRow = z.infer<typeof ConnectorRow>;

export const VersionRow = z.object({
  connector: z.string(),
  version: z.string(),
  status: z.enum(CONNECTOR_STATUSES),
  webhookScheme: Json,
  retry: Json,
});
export type VersionRow = z.infer<typeof VersionRow>;

export const InstanceRow = z.object({
  tenant: z.string(),
  id: z.string(),
  connector: z.string(),
  version: z.string(),
  grants: z.array(z.string()),
  status: z.enum(INSTANCE_STATUSES),
});
export type InstanceRow = z.infer<typeof InstanceRow>;

/** An instance with what depends on it. */
export const PublishedInstance = InstanceRow.extend({
  /** Whether a subscription that is not deactivated uses it. */
  subscribed: z.boolean(),
  /** Whether one of its subscriptions has an ingress. */
  receives: z.boolean(),
});
export type PublishedInstance = z.infer<typeof PublishedInstance>;

export const TargetRow = z.object({ tenant: z.string(), id: z.string(), http: Json });
export type TargetRow = z.infer<typeof TargetRow>;

export const IngressRow = z.object({
  ref: z.string(),
  bodyLimitBytes: z.number(),
  secrets: Json,
});
export type IngressRow = z.infer<typeof IngressRow>;

export const SubscriptionRow = z.object({
  tenant: z.string(),
  id: z.string(),
  instance: z.string(),
  target: z.string(),
  eventTypes: z.array(z.string()),
  retry: Json,
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

export interface VersionKey {
  readonly connector: string;
  readonly version: string;
}
