/** Subscriptions and their ingresses as the API takes and shows them. */
import { z } from 'zod';
import { LANES } from '../domain/lanes';
import { Answered, Instant, pageFields, paging, reasonText } from './api-common';
import { SUBSCRIPTION_STATES } from './fleet/documents';
import { IngressSecrets } from './fleet/ingress-secrets';
import { Name } from './names';
import { RetryProfile, WrittenRetryProfile } from './retry-profiles';

const MAX_REASON = 500;
const MAX_BODY_BYTES = 26_214_400;

export const ListSubscriptionsQuery = z.strictObject(paging);

const eventTypes = z
  .array(z.string().min(1).max(200))
  .min(1)
  .max(200)
  .describe('Event types of the vendor, or `*` alone for every type.');
const drainPerSecond = z
  .number()
  .min(0.001)
  .max(1000)
  .nullable()
  .describe("At which rate what waited goes out; null: at its target's.");
const retry = WrittenRetryProfile.nullable().describe("Null: the connector version's profile.");
const lane = z
  .enum(LANES)
  .describe('durable: a workflow for each delivery; express: only for what is not taken at once.');
const secrets = IngressSecrets.describe(
  'References to the secrets that requests are verified with, never the secrets themselves.',
);
const bodyLimitBytes = z.int().min(1).max(MAX_BODY_BYTES);

export const CreateSubscriptionBody = z.strictObject({
  subscriptionId: Name,
  instanceId: Name.describe('The connection: an enabled instance that grants source or tool.'),
  targetId: Name,
  eventTypes,
  retry: retry.default(null),
  lane: lane.default('durable'),
  drainPerSecond: drainPerSecond.default(null),
  ingress: z.strictObject({ secrets, bodyLimitBytes: bodyLimitBytes.default(MAX_BODY_BYTES) }),
});
export type CreateSubscriptionBody = z.infer<typeof CreateSubscriptionBody>;

export const ChangeSubscriptionBody = z
  .strictObject({
    targetId: Name.optional(),
    eventTypes: eventTypes.optional(),
    retry: retry.optional(),
    lane: lane.optional(),
    drainPerSecond: drainPerSecond.optional(),
    ingress: z
      .strictObject({ secrets: secrets.optional(), bodyLimitBytes: bodyLimitBytes.optional() })
      .optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'name at least one field to change');
export type ChangeSubscriptionBody = z.infer<typeof ChangeSubscriptionBody>;

export const DeactivateSubscriptionBody = z.strictObject({
  reason: reasonText(MAX_REASON).describe('Why; kept in the audit log.'),
});

export const RotateIngressBody = z.strictObject({
  oldUntil: Instant.optional().describe(
    'Until when the old reference still works; 24 h from now without it. An instant that is over closes it at once.',
  ),
});

const IngressSecretShown = z.object({
  id: z.string(),
  ref: z.string(),
  notBefore: z.string().nullable(),
  notAfter: z.string().nullable(),
});

export const IngressShown = z.object({
  ref: z.string(),
  url: z.string().describe('What to enter at the vendor as the address of its webhooks.'),
  scheme: z.string().nullable().describe('How requests are signed.'),
  signatureField: z.string().nullable().describe('Where the signature stands.'),
  bodyLimitBytes: z.int(),
  secrets: z
    .array(IngressSecretShown)
    .describe('References; what they refer to is to be entered at the vendor, too.'),
  previous: z
    .array(
      z.object({
        ref: z.string(),
        until: Answered,
        works: z.boolean().describe('Else it answers 410.'),
      }),
    )
    .describe('References from before a rotation.'),
});

export const Subscription = z
  .object({
    subscriptionId: z.string(),
    instanceId: z.string(),
    connectorId: z.string(),
    version: z.string().describe('Of the connector.'),
    targetId: z.string(),
    eventTypes: z.array(z.string()),
    state: z
      .enum(SUBSCRIPTION_STATES)
      .describe('paused keeps collecting; deactivated refuses, until a fleet has it active again.'),
    active: z.boolean(),
    pauseReason: z.string().nullable(),
    retry: RetryProfile.nullable(),
    lane: z.enum(LANES),
    drainPerSecond: z.number().nullable(),
    lastDeliveryAt: Answered.nullable().describe('Exact to the minute.'),
    ingress: IngressShown.nullable(),
  })
  .meta({ id: 'Subscription' });
export type Subscription = z.infer<typeof Subscription>;

export const SubscriptionPage = z
  .object({
    view: pageFields.view,
    subscriptions: z.array(Subscription).describe('By id.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'SubscriptionPage' });
export type SubscriptionPage = z.infer<typeof SubscriptionPage>;

/** What the database tells of one. */
export const SubscriptionFacts = Subscription.omit({ active: true }).extend({
  scheme: z.string().nullable(),
  signatureField: z.string().nullable(),
  ingress: IngressShown.omit({ url: true, scheme: true, signatureField: true }).nullable(),
});
export type SubscriptionFacts = z.infer<typeof SubscriptionFacts>;
