/** Quota scopes as the API shows them: the tenant's own in full, shared ones as full or not. */
import { z } from 'zod';
import { Answered, Flag, pageFields, paging } from './api-common';

/** So many of those that hold a scope are named, the longest first. */
export const HOLDERS_SHOWN = 5;

export const ListQuotasQuery = z.strictObject({
  full: Flag.optional().describe('true: only those that are full.'),
  ...paging,
});

export const QuotaHolder = z.object({
  actionId: z.string(),
  attemptNo: z.int(),
  replicaId: z.string(),
  openedAt: Answered,
});

export const OwnScope = z
  .object({
    scope: z.enum(['binding', 'instance', 'tenant', 'tenant_retry']),
    instanceId: z.string().nullable().describe('Of the scopes binding and instance.'),
    capabilityId: z.string().nullable().describe('Of the scope binding.'),
    limit: z
      .int()
      .nullable()
      .describe(
        "The lowest that a policy of the tenant's bindings sets; null: what is held was taken under one that is gone.",
      ),
    held: z.int().describe('Reservations that hold it now.'),
    full: z.boolean(),
    holders: z.array(QuotaHolder).describe(`The longest first, at most ${HOLDERS_SHOWN}.`),
  })
  .meta({ id: 'QuotaScope' });
export type OwnScope = z.infer<typeof OwnScope>;

/** How full it is, and who holds it, is no tenant's business. */
export const SharedScope = z
  .object({
    scope: z.enum(['connector', 'global']),
    connectorId: z.string().nullable().describe('Of the scope connector.'),
    full: z.boolean().describe("By the lowest limit of the tenant's bindings."),
  })
  .meta({ id: 'SharedQuotaScope' });
export type SharedScope = z.infer<typeof SharedScope>;

export const QuotaPage = z
  .object({
    view: pageFields.view,
    scopes: z.array(OwnScope).describe('By scope, then by what it is of.'),
    shared: z.array(SharedScope).describe('The first 100, whatever the page.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'QuotaPage' });
export type QuotaPage = z.infer<typeof QuotaPage>;
