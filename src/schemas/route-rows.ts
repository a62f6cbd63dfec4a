/** What the routing functions of the database answer, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { ACTION_STATES } from '../domain/action-states';
import { tenantId } from '../domain/ids';
import type {
  ActionResult,
  ExtendAnswer,
  RecordResultAnswer,
  ReserveAnswer,
  RouteAssignment,
  SettleAnswer,
} from '../domain/routes';
import { BINDING_FAULTS, SETTLEMENTS, TRANSPORTS } from '../domain/routes';

export const ActionResultRow = z.object({
  outcome: z.enum(['succeeded', 'failed', 'cancelled']),
  resultSha256: z.string().nullable(),
  errorCode: z.string().nullable(),
}) satisfies z.ZodType<ActionResult>;

export const RouteRow = z.object({
  tenantId: z.string().transform(tenantId),
  actionId: z.string(),
  capabilityId: z.string(),
  connectorId: z.string(),
  instanceId: z.string(),
  version: z.string(),
  manifestDigest: z.string(),
  replicaId: z.string(),
  endpoint: z.string(),
  peerPrincipalId: z.string(),
  peerPrincipalKind: z.string(),
  peerDid: z.string(),
  trustDomain: z.string(),
  transportProfile: z.enum(TRANSPORTS),
  topology: z.object({ region: z.string(), zone: z.string(), capacityClass: z.string() }),
  catalogRevision: z.int(),
  bindingPolicyRevision: z.int(),
  credentialRevision: z.string(),
  quotaPolicyId: z.string().nullable(),
  assignedAt: z.string(),
}) satisfies z.ZodType<RouteAssignment>;

const Reservation = z.object({
  attemptNo: z.int(),
  fence: z.int(),
  deadlineInMs: z.int(),
  incarnation: z.int(),
  healthRevision: z.int(),
  probe: z.boolean(),
});

const retryInMs = z.int();

export const BindingFaultRow = z.enum(BINDING_FAULTS);

export const ReserveAnswerRow = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('reserved'), route: RouteRow, reservation: Reservation }),
  z.object({
    kind: z.literal('settled'),
    settlement: z.enum(SETTLEMENTS),
    attemptNo: z.int(),
  }),
  z.object({ kind: z.literal('finished'), result: ActionResultRow }),
  z.object({ kind: z.literal('in_progress'), endsInMs: z.int() }),
  z.object({ kind: z.literal('superseded'), attemptNo: z.int() }),
  z.object({ kind: z.literal('conflict'), detail: z.string() }),
  z.object({ kind: z.literal('unknown_action') }),
  z.object({ kind: z.literal('not_requested'), state: z.enum(ACTION_STATES) }),
  z.object({ kind: z.literal('approval_required') }),
  z.object({
    kind: z.literal('binding_unavailable'),
    why: BindingFaultRow,
  }),
  z.object({
    kind: z.literal('replica_unavailable'),
    why: z.enum([
      ...(['none_registered', 'none_ready', 'at_capacity', 'circuit_open'] as const),
      ...(['wrong_topology', 'pinned_unavailable'] as const),
    ]),
    retryInMs,
  }),
  z.object({
    kind: z.literal('capacity_exceeded'),
    scope: z.enum(['binding', 'instance', 'connector', 'tenant_retry', 'tenant', 'global']),
    retryInMs,
  }),
  z.object({ kind: z.literal('rate_limited'), instanceId: z.string(), retryInMs }),
  z.object({ kind: z.literal('contended'), retryInMs }),
  z.object({ kind: z.literal('recovering'), retryInMs }),
]) satisfies z.ZodType<ReserveAnswer>;

export const SettleAnswerRow = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('settled') }),
  z.object({ kind: z.literal('already_settled') }),
  z.object({ kind: z.literal('fence_lost'), settlement: z.enum(SETTLEMENTS).nullable() }),
  z.object({ kind: z.literal('unknown_route') }),
]) satisfies z.ZodType<SettleAnswer>;

export const RecordResultAnswerRow = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('recorded') }),
  z.object({ kind: z.literal('already_recorded') }),
  z.object({ kind: z.literal('conflict'), result: ActionResultRow }),
  z.object({ kind: z.literal('unknown_route') }),
]) satisfies z.ZodType<RecordResultAnswer>;

export const ExtendAnswerRow = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('extended'), deadlineInMs: z.int() }),
  z.object({ kind: z.literal('fence_lost') }),
  z.object({ kind: z.literal('unknown_route') }),
]) satisfies z.ZodType<ExtendAnswer>;
