/** The catalog as the API shows it. */
import { z } from 'zod';
import { RECOVERIES, SIDE_EFFECTS } from '../domain/capabilities';
import { Flag, pageFields, paging, PLAIN_TEXT } from './api-common';
import { Name } from './names';

export const CapabilityParams = z.strictObject({ capabilityId: Name });

const Unbound = Flag.optional().describe(
  'true: also what active versions offer and the tenant has not bound; needs the scope ' +
    'factory.catalog.internal.',
);

export const ShowCapabilityQuery = z.strictObject({ unbound: Unbound });

export const CapabilityQuery = z.strictObject({
  search: z
    .string()
    .min(1)
    .max(100)
    .regex(PLAIN_TEXT, 'must not contain control characters')
    .optional()
    .describe('Text within the id or the interface, in any case.'),
  capabilityId: Name.optional().describe('This one alone.'),
  interface: Name.optional(),
  profile: Name.optional().describe('Only what is served by a version that supports it.'),
  unbound: Unbound,
});

export const ListCapabilitiesQuery = CapabilityQuery.extend(paging);

const Revision = z.int().describe('The revision of the catalog at which this was read.');

export const Capability = z
  .object({
    capabilityId: z.string(),
    interface: z.string(),
    sideEffect: z.enum(SIDE_EFFECTS),
    recovery: z.enum(RECOVERIES),
    requestSchema: z.unknown().describe('JSON Schema, draft 2020-12.'),
    resultSchema: z.unknown().describe('JSON Schema, draft 2020-12.'),
    contractDigest: z.string().describe('SHA-256 of the contract, which never changes.'),
    profiles: z.array(z.string()).describe('Of the versions that serve it.'),
    bound: z.boolean().describe('Whether the tenant can use it: a binding of its serves it.'),
  })
  .meta({ id: 'Capability' });
export type Capability = z.infer<typeof Capability>;

export const CapabilityDetail = Capability.extend({ revision: Revision }).meta({
  id: 'CapabilityDetail',
});
export type CapabilityDetail = z.infer<typeof CapabilityDetail>;

export const CapabilityPage = z
  .object({
    revision: Revision,
    capabilities: z
      .array(Capability)
      .describe('By id; at most 4 MiB of them. A page may be short, or empty, and go on.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'CapabilityPage' });
export type CapabilityPage = z.infer<typeof CapabilityPage>;

/** Exactly one of the two. */
export const ResolveCapabilityQuery = z
  .strictObject({
    capabilityId: Name.optional().describe('One capability, by its id.'),
    interface: Name.optional().describe('Any capability of this interface.'),
  })
  .refine((query) => (query.capabilityId === undefined) !== (query.interface === undefined), {
    error: 'name either a capability or an interface',
    path: ['capabilityId'],
  });

export const CapabilityResolution = z
  .object({
    revision: Revision,
    interface: z.string(),
    instanceId: z.string(),
    adapter: z.object({
      connectorId: z.string(),
      version: z.string(),
      provider: z.string(),
      manifestDigest: z
        .string()
        .describe("SHA-256 of the manifest that the version's hosts serve."),
    }),
    capabilities: z
      .array(
        z.object({
          capabilityId: z.string(),
          sideEffect: z.enum(SIDE_EFFECTS),
          recovery: z.enum(RECOVERIES),
          contractDigest: z.string(),
          priority: z.int().describe('Of the binding; the lower one wins.'),
          policyRevision: z.int(),
        }),
      )
      .describe('What was asked for, as far as this instance serves it; by id, at least one.'),
  })
  .meta({ id: 'CapabilityResolution' });
export type CapabilityResolution = z.infer<typeof CapabilityResolution>;
