/** What can be sent through a connector version, by operation, as rows hold it. */
import { z } from 'zod';
import { SIDE_EFFECTS } from '../domain/capabilities';
import { SuccessCheck } from './targets';

export const OUTBOUND_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const;

/** How the connection's secret goes with a request; resolved at each attempt. */
export const OutboundAuth = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('bearer') }),
  /** `user`: a text template of the configuration; the secret is the password. */
  z.strictObject({ kind: z.literal('basic'), user: z.string() }),
  z.strictObject({ kind: z.literal('header'), name: z.string(), prefix: z.string() }),
  z.strictObject({ kind: z.literal('query'), name: z.string() }),
]);
export type OutboundAuth = z.infer<typeof OutboundAuth>;

const timeoutMs = z.int().min(100).max(240_000);

export const HttpOperation = z.strictObject({
  kind: z.literal('http'),
  sideEffect: z.enum(SIDE_EFFECTS),
  method: z.enum(OUTBOUND_METHODS),
  /** A template; see `urlParts`. */
  url: z.string(),
  /** Text templates by name, which is in lower case. */
  headers: z.record(z.string(), z.string()),
  /**
   * JSON in which every object that is exactly `{from: pointer}` or `{config: pointer}` stands for the
   * payload's or the configuration's value there; null: the payload itself.
   */
  body: z.json(),
  auth: OutboundAuth.nullable(),
  success: z.strictObject({
    /** Null: every status of 2xx. */
    statuses: z.array(z.int().min(200).max(299)).nullable(),
    body: SuccessCheck.nullable(),
  }),
  /** The header by which the vendor does the same request once; null: it knows none. */
  idempotencyHeader: z.string().nullable(),
  /** For how long the vendor knows what it got by that header. */
  idempotencyWindowMs: z.int().min(1),
  standardWebhooks: z.boolean(),
  timeoutMs,
});
export type HttpOperation = z.infer<typeof HttpOperation>;

/** Sent by an action of a host of the connection. */
export const ActionOperation = z.strictObject({
  kind: z.literal('action'),
  capabilityId: z.string(),
  /** As of an action target. */
  request: z.json(),
  timeoutMs,
});
export type ActionOperation = z.infer<typeof ActionOperation>;

export const OutboundOperation = z.discriminatedUnion('kind', [HttpOperation, ActionOperation]);
export type OutboundOperation = z.infer<typeof OutboundOperation>;

export const Outbound = z.record(z.string(), OutboundOperation);
export type Outbound = z.infer<typeof Outbound>;

/** The connection as an attempt uses it: references to secrets, never values. */
export const Connection = z.object({
  instanceId: z.string(),
  config: z.record(z.string(), z.unknown()).nullable(),
  secretRef: z.string().nullable(),
  signingSecretRefs: z.array(z.string()),
});
export type Connection = z.infer<typeof Connection>;
