/** What the database answers to the two halves of moving an action, parsed at the edge of `src/db`. */
import { z } from 'zod';
import { REPIN_FAULTS, type BeginRepin, type ConcludeRepin } from '../domain/repin';
import { RouteRow } from './route-rows';

const refused = z.object({ kind: z.literal('refused'), why: z.enum(REPIN_FAULTS) });

export const BeginRepinRow = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('seal'),
    route: RouteRow,
    fence: z.int(),
    incarnation: z.int(),
    storeEpoch: z.string().nullable(),
    nowMs: z.int(),
    sentAgoMs: z.int().nullable(),
    timeoutMs: z.int(),
    mayBeOnTheWire: z.boolean(),
    approval: z.string().nullable(),
  }),
  refused,
  z.object({ kind: z.enum(['already', 'unknown_action']) }),
]) satisfies z.ZodType<BeginRepin>;

export const ConcludeRepinRow = z.discriminatedUnion('kind', [
  refused,
  z.object({ kind: z.enum(['repinned', 'already', 'unknown_action']) }),
]) satisfies z.ZodType<ConcludeRepin>;
