/** Publishing a fleet through the API: what is sent, and what is answered. */
import { z } from 'zod';
import { FLEET_KINDS } from './fleet/documents';

/** The text of a fleet file; it is read with the lines of its mistakes, so not before the handler. */
export const FleetBody = z
  .unknown()
  .describe('A fleet file: documents of YAML, or of JSON one document or a list of them.');

/** Most changes that an answer lists. */
export const LISTED_CHANGES = 1_000;

const FleetChange = z.object({
  kind: z.enum(FLEET_KINDS),
  id: z
    .string()
    .describe('`github@1.0.0` of a connector version, `issues.open@main` of a binding.'),
  tenant: z.string().optional(),
  action: z.enum(['create', 'update']),
  fields: z.array(
    z.object({
      field: z.string().describe('Dotted path.'),
      before: z.unknown().describe('Null where it was not there.'),
      after: z.unknown(),
    }),
  ),
});

const changed = {
  changeCount: z.int(),
  changes: z.array(FleetChange).describe(`The first ${LISTED_CHANGES} of them.`),
};

export const FleetDifference = z
  .object({
    revision: z.int().describe('Of the catalog that it was compared with.'),
    differs: z.boolean(),
    ...changed,
  })
  .meta({ id: 'FleetDifference' });
export type FleetDifference = z.infer<typeof FleetDifference>;

export const PublishedFleet = z
  .object({
    revision: z.int().describe('Of the catalog now.'),
    changed: z.boolean().describe('False: all of it was there already, and the revision stays.'),
    ...changed,
  })
  .meta({ id: 'PublishedFleet' });
export type PublishedFleet = z.infer<typeof PublishedFleet>;
