/** A tenant's own part of the fleet, as the API shows it. */
import { z } from 'zod';
import { Answered, pageFields, paging } from './api-common';
import { FleetStatusRow, ReplicaIdentityRow } from './replica-rows';

export const FleetStatusQuery = z.strictObject({
  ...paging,
  status: ReplicaIdentityRow.shape.status.optional().describe('Only replicas that are so.'),
});

/** One host process with its lease and its load. */
export const Replica = z
  .object({
    replicaId: z.string(),
    instanceId: z.string(),
    version: z.string(),
    status: ReplicaIdentityRow.shape.status,
    leaseEndsAt: Answered.nullable().describe(
      'Null where it has none: never registered, or offline.',
    ),
    incarnation: z.int().describe('Grows with each registration; 0 before the first.'),
    capacity: z.int(),
    activeAssignments: z.int(),
    circuit: z.enum(['closed', 'open', 'half_open']),
  })
  .meta({ id: 'Replica' });
export type Replica = z.infer<typeof Replica>;

export const TenantFleet = z
  .object({
    view: pageFields.view,
    totals: FleetStatusRow.describe("All of the tenant's replicas, whatever the page."),
    replicas: z.array(Replica).describe('By id.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'TenantFleet' });
export type TenantFleet = z.infer<typeof TenantFleet>;
