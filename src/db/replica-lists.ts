/** Reading a tenant's own part of the fleet for people and programs. */
import type { TenantId } from '../domain/ids';
import type { FleetStatus } from '../domain/registry-ports';
import { Replica } from '../schemas/api-fleet';
import { FleetStatusRow } from '../schemas/replica-rows';
import { onlyRow } from './database';
import type { Database, Statement } from './database';
import { readAsTenant, utc } from './lists';

export interface ReplicaListRequest {
  readonly tenantId: TenantId;
  /** The last replica of the page before. */
  readonly after: string | null;
  readonly limit: number;
}

export const replicaListStatements = {
  totals: {
    name: 'replica_list_totals',
    text: `select jsonb_build_object(
          'registered', count(*) filter (where status = 'registered'),
          'ready', count(*) filter (where status = 'ready'),
          'draining', count(*) filter (where status = 'draining'),
          'drained', count(*) filter (where status = 'drained'),
          'offline', count(*) filter (where status = 'offline')) as replicas,
        (select count(*) from waybill.route_attempts t
          where t.tenant_id = $1 and t.settled_at is null) as "openAttempts",
        count(*) filter (where circuit_open_until is not null) as "circuitsNotClosed",
        coalesce(sum(capacity) filter (where status = 'ready'), 0)::bigint as capacity,
        coalesce(sum(active_assignments), 0)::bigint as "activeAssignments"
      from waybill.replicas where tenant_id = $1`,
  },
  list: {
    name: 'replica_list',
    text: `select replica_id as "replicaId", instance_id as "instanceId", version, status,
        ${utc(`nullif(lease_ends_at, '-infinity')`)} as "leaseEndsAt", incarnation, capacity,
        active_assignments as "activeAssignments",
        case when circuit_open_until is null then 'closed'
          when circuit_open_until > clock_timestamp() then 'open'
          else 'half_open' end as circuit
      from waybill.replicas
      where tenant_id = $1 and ($2::text is null or replica_id > $2)
      order by replica_id limit $3`,
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
  const { tenantId, after, limit } = request;
  const rows = await readAsTenant(db, tenantId, (run) =>
    run(replicaListStatements.list, [tenantId, after, limit]),
  );
  return rows.map((found) => Replica.parse(found));
}
