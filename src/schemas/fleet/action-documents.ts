/** What actions need: capabilities with their contracts, bindings, and limits of their use. */
import { z } from 'zod';
import { RECOVERIES, SIDE_EFFECTS } from '../../domain/capabilities';
import { Duration } from '../durations';
import { Name } from '../names';
import { JsonSchema } from './json-schemas';

export const SPILLS = ['never', 'capacity'] as const;

/** Postgres integer. */
const MAX_INT = 2_147_483_647;

/** Of one call to a host. */
const CallTimeout = Duration.pipe(
  z.number().min(100, 'must be at least 100ms').max(600_000, 'must be at most 10m'),
);

/** One contract per id for ever. */
export const CapabilityDocument = z.strictObject({
  kind: z.literal('Capability'),
  id: Name,
  interface: Name,
  sideEffect: z.enum(SIDE_EFFECTS),
  recovery: z.enum(RECOVERIES),
  requestSchema: JsonSchema,
  resultSchema: JsonSchema,
  /** From connecting to a host to the last byte of its answer. */
  timeout: CallTimeout.default(30_000),
});
export type CapabilityDocument = z.infer<typeof CapabilityDocument>;

const Limit = z
  .int()
  .min(1, 'must be at least 1; to stop a binding, disable it')
  .max(MAX_INT)
  .nullable()
  .default(null);

/** Limits on simultaneous reservations; a scope that is left out has none. */
export const QuotaPolicyDocument = z.strictObject({
  kind: z.literal('QuotaPolicy'),
  id: Name,
  limits: z.strictObject({
    binding: Limit,
    instance: Limit,
    connector: Limit,
    tenantRetry: Limit,
    tenant: Limit,
    global: Limit,
  }),
});
export type QuotaPolicyDocument = z.infer<typeof QuotaPolicyDocument>;

export const BindingDocument = z.strictObject({
  kind: z.literal('Binding'),
  tenant: Name,
  capability: Name,
  instance: Name,
  /** Lower comes first. */
  priority: z.int().min(0).max(1_000_000).default(100),
  enabled: z.boolean().default(true),
  spill: z.enum(SPILLS).default('never'),
  spread: z.boolean().default(false),
  /** Left out: its capability's class decides. */
  approval: z.enum(['required']).optional(),
  policyRevision: z.int().min(1).max(Number.MAX_SAFE_INTEGER).default(1),
  credentialRevision: Name,
  quotaPolicy: Name.nullable().default(null),
});
export type BindingDocument = z.infer<typeof BindingDocument>;
