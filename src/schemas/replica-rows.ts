/** What the database answers about the fleet, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { RECOVERIES, SIDE_EFFECTS } from '../domain/capabilities';
import { tenantId } from '../domain/ids';
import { REPLICA_STATUSES } from '../domain/registry-ports';
import type {
  BoundContract,
  CapabilityContract,
  FleetStatus,
  LifecycleAnswer,
  ReplicaIdentity,
} from '../domain/registry-ports';

const Status = z.enum(REPLICA_STATUSES);

export const ReplicaIdentityRow = z.object({
  replicaId: z.string(),
  tenantId: z.string().transform(tenantId),
  instanceId: z.string(),
  version: z.string(),
  endpoint: z.string(),
  peerDid: z.string(),
  status: Status,
  incarnation: z.int(),
  healthRevision: z.int(),
  storeEpoch: z.string().nullable(),
}) satisfies z.ZodType<ReplicaIdentity>;

export const HostFactsRow = z.object({
  peerDid: z.string(),
  status: Status,
  storeEpoch: z.string().nullable(),
  /** Of its version; null: that one has none, so no host can serve it. */
  manifestDigest: z.string().nullable(),
  /** The database's time in milliseconds since the epoch. */
  nowMs: z.int(),
});
export type HostFacts = z.infer<typeof HostFactsRow>;

export const LifecycleAnswerRow = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('accepted'),
    sequence: z.int(),
    incarnation: z.int(),
    status: Status,
    leaseMs: z.int(),
  }),
  z.object({ kind: z.literal('unknown_replica') }),
  z.object({ kind: z.literal('must_register'), sequence: z.int() }),
  z.object({ kind: z.literal('stale_sequence'), sequence: z.int() }),
]) satisfies z.ZodType<LifecycleAnswer>;

export const FleetStatusRow = z.object({
  replicas: z.record(Status, z.int()),
  openAttempts: z.int(),
  circuitsNotClosed: z.int(),
  capacity: z.int(),
  activeAssignments: z.int(),
}) satisfies z.ZodType<FleetStatus>;

export const OverdueAttempt = z.object({
  tenant_id: z.string(),
  action_id: z.string(),
  fence: z.int(),
});
export type OverdueAttempt = z.infer<typeof OverdueAttempt>;

/** What every reader of a capability gets. */
export const ContractRow = z.object({
  capabilityId: z.string(),
  interfaceName: z.string(),
  sideEffect: z.enum(SIDE_EFFECTS),
  recovery: z.enum(RECOVERIES),
  requestSchema: z.json(),
  resultSchema: z.json(),
  contractDigest: z.string(),
}) satisfies z.ZodType<CapabilityContract>;

export const CapabilityRow = ContractRow.extend({
  approvalNeeded: z.boolean(),
}) satisfies z.ZodType<BoundContract>;
