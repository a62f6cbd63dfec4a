/** What the database answers about the catalog, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import { RECOVERIES, SIDE_EFFECTS } from '../domain/capabilities';
import type { ResolutionAnswer } from '../domain/capability-resolution';
import type { CapabilityPageAnswer, PlannedContract } from '../domain/registry-ports';
import { ContractRow } from './replica-rows';
import { BindingFaultRow } from './route-rows';

/** Checked when they were published; up to 4 MiB of them are read at once. */
const Published = z.unknown();

const DefinedContractRow = ContractRow.omit({ resultSchema: true }).extend({
  requestSchema: Published,
});

const PlannedContractRow = DefinedContractRow.extend({
  approvalNeeded: z.boolean(),
}) satisfies z.ZodType<PlannedContract>;

export const CapabilityDefinitionRow = DefinedContractRow.extend({
  resultSchema: Published,
  bound: z.boolean(),
  profiles: z.array(z.string()),
});

export const CapabilityPageRow = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('page'),
    revision: z.int(),
    capabilities: z.array(CapabilityDefinitionRow),
    next: z.string().nullable(),
  }),
  z.object({ kind: z.literal('stale_cursor'), revision: z.int() }),
]) satisfies z.ZodType<CapabilityPageAnswer>;

export const PlanContractsRow = z.object({
  revision: z.int(),
  contracts: z.array(PlannedContractRow),
});

export const ResolutionRow = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('resolved'),
    revision: z.int(),
    interfaceName: z.string(),
    instanceId: z.string(),
    connectorId: z.string(),
    version: z.string(),
    provider: z.string(),
    manifestDigest: z.string(),
    capabilities: z.array(
      z.object({
        capabilityId: z.string(),
        sideEffect: z.enum(SIDE_EFFECTS),
        recovery: z.enum(RECOVERIES),
        contractDigest: z.string(),
        priority: z.int(),
        policyRevision: z.int(),
      }),
    ),
  }),
  z.object({
    kind: z.literal('binding_unavailable'),
    why: BindingFaultRow,
    revision: z.int(),
  }),
]) satisfies z.ZodType<ResolutionAnswer>;
