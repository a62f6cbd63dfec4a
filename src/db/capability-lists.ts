/** Reading the catalog in Postgres: each answer is of one statement, hence at one revision. */
import type { ResolutionAnswer, ResolutionWish } from '../domain/capability-resolution';
import type { TenantId } from '../domain/ids';
import type {
  CapabilityPageAnswer,
  CapabilityPageRequest,
  PlannedContract,
} from '../domain/registry-ports';
import { CapabilityPageRow, PlanContractsRow, ResolutionRow } from '../schemas/capability-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const capabilityListStatements = {
  page: {
    name: 'capability_page',
    text: 'select waybill.capability_page($1, $2, $3, $4) as page',
  },
  contracts: {
    name: 'capability_plan_contracts',
    text: 'select waybill.plan_contracts($1, $2) as answer',
  },
  revision: {
    name: 'capability_revision',
    text: 'select waybill.read_catalog_revision() as revision',
  },
  resolve: {
    name: 'capability_resolve',
    text: 'select waybill.resolve_capability($1, $2) as answer',
  },
} as const satisfies Record<string, Statement>;

/** One page of what the tenant sees (docs/architecture, "Reading the catalog"). */
export async function pageOfCapabilities(
  db: Database,
  request: CapabilityPageRequest,
): Promise<CapabilityPageAnswer> {
  const { tenantId, after, limit, search, capabilityId, interfaceName, profile, unbound } = request;
  const wanted = { search, capabilityId, interfaceName, profile, unbound };
  const rows = await db.query(capabilityListStatements.page, [
    tenantId,
    JSON.stringify(wanted),
    after && JSON.stringify(after),
    limit,
  ]);
  return CapabilityPageRow.parse(onlyRow(rows)['page']);
}

/** The contracts that the tenant sees among these ids, each once. */
export async function planContracts(
  db: Database,
  tenantId: TenantId,
  capabilityIds: readonly string[],
): Promise<{ readonly revision: number; readonly contracts: readonly PlannedContract[] }> {
  const rows = await db.query(capabilityListStatements.contracts, [tenantId, capabilityIds]);
  return PlanContractsRow.parse(onlyRow(rows)['answer']);
}

export async function catalogRevision(db: Database): Promise<number> {
  return Number(onlyRow(await db.query(capabilityListStatements.revision, []))['revision']);
}

export async function resolveCapability(
  db: Database,
  tenantId: TenantId,
  wish: ResolutionWish,
): Promise<ResolutionAnswer> {
  const rows = await db.query(capabilityListStatements.resolve, [tenantId, JSON.stringify(wish)]);
  return ResolutionRow.parse(onlyRow(rows)['answer']);
}
