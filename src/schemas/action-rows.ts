/** What the database answers about actions, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { ACTION_STATES } from '../domain/action-states';
import type { ActionFacts, MoveAnswer, StartAnswer } from '../domain/registry-ports';
import { ActionResultRow } from './route-rows';

const ActionFactsRow = z.object({
  capabilityId: z.string(),
  state: z.enum(ACTION_STATES),
  version: z.int(),
  requestDigest: z.string(),
  result: ActionResultRow.nullable(),
  reason: z.string().nullable(),
  deadlineInMs: z.int(),
  retryBudget: z.int(),
  affinityKey: z.string().nullable(),
}) satisfies z.ZodType<ActionFacts>;

export const StartAnswerRow = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['started', 'existing', 'conflict']), action: ActionFactsRow }),
  z.object({ kind: z.literal('stale_plan'), revision: z.int() }),
]) satisfies z.ZodType<StartAnswer>;

export const MoveAnswerRow = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['moved', 'already', 'refused']), action: ActionFactsRow }),
  z.object({ kind: z.literal('unknown_action') }),
]) satisfies z.ZodType<MoveAnswer>;
