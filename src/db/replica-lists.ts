/** Reading a tenant's own part of the fleet for people and programs. */
import type { TenantId } from '../domain/ids';
import type { FleetStatus, ReplicaStatus } from '../domain/registry-ports';
import { Replica } from '../schemas/api-fleet';
import { FleetStatusRow } from '../schemas/replica-rows';
import { onlyRow } from './database';
import type { Database, Statement } from './database';
import { readAsTenant, utc } from './lists';
import { fleetFigures } from './replicas';

export interface ReplicaListRequest {
  readonly tenantId: TenantId;
  /** null: whatever they are. */
  readonly status: ReplicaStatus | null;
  /** The last replica of the page before. */
  readonly after: string | null;
  readonly limit: number;
}

const columns = `select replica_id as "replicaId", instance_id as "instanceId", version, status,
    ${utc(`nullif(lease_ends_at, '-infinity')`)} as "leaseEndsAt", incarnation, capacity,
    active_assignments as "activeAssignments",
    case when circuit_open_until is null then 'closed'
      when circuit_open_until > clock_timestamp() then 'open'
      else 'half_open' end as circuit
  from waybill.replicas`;

const goesOn = `replica_id collate "C" > coalesce($2::text, '')
  order by replica_id collate "C" limit $3`;

export const replicaListStatements = {
  totals: {
    name: 'replica_list_totals',
    text: fleetFigures('tenant_id = $1'),
  },
  list: {
    name: 'replica_list',
    text: `${columns} where tenant_id = $1 and ${goesOn}`,
  },
  listStatus: {
    name: 'replica_list_status',
    text: `${columns} where tenant_id = $1 and status = $4 and ${goesOn}`,
  },
} as const satisfies Record<string, Statement>;

/** The figures of all the tenant's replicas. */
export async function tenantFleetStatus(db: Database, tenantId: TenantId): Promise<FleetStatus> {
  const rows = await readAsTenant(db, tenantId, (run) =>
    run(replicaListStatements.totals, [tenantId]),
  );
  return FleetStatusRow.parse(onlyRow(rows));
}

/** The tenant's replicas by id, at most `limit`. */
export async function listReplicas(db: Database, request: ReplicaListRequest): Promise<Replica[]> {
  const { tenantId, status, after, limit } = request;
  const { list, listStatus } = replicaListStatements;
  const values = [tenantId, after, limit];
  const rows = await readAsTenant(db, tenantId, (run) =>
    status === null ? run(list, values) : run(listStatus, [...values, status]),
  );
  return rows.map((found) => Replica.parse(found));
}
