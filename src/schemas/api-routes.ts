/** Routes as the API shows them. The reads of `src/db` answer rows in these shapes. */
import { z } from 'zod';
import { SETTLEMENTS } from '../domain/routes';
import { Answered, Flag, pageFields, paging } from './api-common';
import { ActionId } from './host-messages';
import { Name } from './names';
import { RouteRow } from './route-rows';

export const RouteFilters = z.strictObject({
  instanceId: Name.optional(),
  replicaId: Name.optional(),
  open: Flag.optional().describe('true: only those that hold a reservation now.'),
});
export type RouteFilters = z.infer<typeof RouteFilters>;

export const ListRoutesQuery = RouteFilters.extend(paging);

export const RouteParams = z.strictObject({ actionId: ActionId.describe('The action id.') });

/** The immutable assignment of one action to one host. */
export const Route = RouteRow.omit({ tenantId: true })
  .extend({
    assignedAt: Answered,
    fence: z.int().describe('The highest that was given out for the action.'),
    generation: z.int().describe('1, and one more each time that an operator moved the action.'),
    retiredAt: Answered.nullable().describe(
      'Since when an operator has taken it back: the next reservation chooses anew.',
    ),
  })
  .meta({ id: 'Route' });
export type Route = z.infer<typeof Route>;

/** One reservation of a route. */
export const RouteAttempt = z
  .object({
    attemptNo: z.int(),
    fence: z.int(),
    replicaId: z.string(),
    incarnation: z.int().describe("The host's, when the reservation was made."),
    openedAt: Answered,
    deadlineAt: Answered,
    settledAt: Answered.nullable(),
    settlement: z.enum(SETTLEMENTS).nullable().describe('Null while it is open.'),
    cause: z
      .enum(['host', 'ours', 'deadline', 'replica_lease', 'offline', 'incarnation'])
      .nullable()
      .describe('Of an unknown outcome or an expired lease.'),
    evidence: z.record(z.string(), z.unknown()).nullable().describe('What was known at its end.'),
    lateEvidence: z
      .array(z.record(z.string(), z.unknown()))
      .describe('What came after it was settled, the first ten.'),
  })
  .meta({ id: 'RouteAttempt' });
export type RouteAttempt = z.infer<typeof RouteAttempt>;

/** A route that an operator took back, as it was. */
export const RetiredRoute = z
  .object({
    generation: z.int(),
    instanceId: z.string(),
    version: z.string(),
    replicaId: z.string(),
    assignedAt: z.string(),
    fence: z.int().describe('The highest that was given out on it.'),
    retiredAt: Answered,
    retiredBy: z.string(),
    reason: z.string(),
    proof: z.record(z.string(), z.unknown()).describe('Why it was safe: what its host said.'),
  })
  .meta({ id: 'RetiredRoute' });
export type RetiredRoute = z.infer<typeof RetiredRoute>;

export const RouteSummary = Route.extend({
  attemptCount: z.int(),
  openUntil: Answered.nullable().describe('Deadline of the reservation that it holds now, if any.'),
}).meta({ id: 'RouteSummary' });
export type RouteSummary = z.infer<typeof RouteSummary>;

export const RouteDetail = RouteSummary.extend({
  attempts: z.array(RouteAttempt).describe('Oldest first; the newest 1000.'),
  retired: z.array(RetiredRoute).describe('Routes that operators took back, oldest first.'),
}).meta({ id: 'RouteDetail' });
export type RouteDetail = z.infer<typeof RouteDetail>;

export const RoutePage = z
  .object({
    view: pageFields.view,
    routes: z.array(RouteSummary).describe('The last assigned first.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'RoutePage' });
export type RoutePage = z.infer<typeof RoutePage>;
