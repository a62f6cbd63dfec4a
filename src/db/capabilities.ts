/** Capabilities in Postgres, as a tenant sees them. */
import type { CapabilityCatalog } from '../domain/registry-ports';
import { CapabilityRow } from '../schemas/replica-rows';
import {
  catalogRevision,
  pageOfCapabilities,
  planContracts,
  resolveCapability,
} from './capability-lists';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const capabilityStatements = {
  find: { name: 'capability_find', text: 'select waybill.find_capability($1, $2) as capability' },
} as const satisfies Record<string, Statement>;

/** The catalog over a pool of role `waybill_data` (docs/architecture, "Routes"). */
export function capabilityCatalog(db: Database): CapabilityCatalog {
  return {
    async find(tenant, capability) {
      const rows = await db.query(capabilityStatements.find, [tenant, capability]);
      return CapabilityRow.nullable().parse(onlyRow(rows)['capability']);
    },
    page: (request) => pageOfCapabilities(db, request),
    contracts: (tenant, capabilityIds) => planContracts(db, tenant, capabilityIds),
    revision: () => catalogRevision(db),
    resolve: (tenant, wish) => resolveCapability(db, tenant, wish),
  };
}
