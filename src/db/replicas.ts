/** The fleet in Postgres: what hosts say of their replicas, and what ends when they fall silent. */
import type {
  FleetStatusProvider,
  LifecycleAnswer,
  LifecycleCall,
  RegistryAdministrator,
  RegistryReader,
} from '../domain/registry-ports';
import {
  FleetStatusRow,
  LifecycleAnswerRow,
  OverdueAttempt,
  ReplicaIdentityRow,
} from '../schemas/replica-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const replicaStatements = {
  register: {
    name: 'replica_register',
    text: 'select waybill.register_replica($1, $2, $3, $4) as answer',
  },
  heartbeat: {
    name: 'replica_heartbeat',
    text: 'select waybill.heartbeat_replica($1, $2, $3, $4) as answer',
  },
  drain: { name: 'replica_drain', text: 'select waybill.drain_replica($1, $2, $3) as answer' },
  offline: {
    name: 'replica_offline',
    text: 'select waybill.offline_replica($1, $2, $3) as answer',
  },
  read: {
    name: 'replica_read',
    text: `select replica_id as "replicaId", tenant_id as "tenantId", instance_id as "instanceId",
        version, endpoint, peer_did as "peerDid", status, incarnation,
        health_revision as "healthRevision", store_epoch as "storeEpoch"
      from waybill.replicas where replica_id = $1`,
  },
  expire: { name: 'replica_expire', text: 'select waybill.expire_replicas($1) as count' },
  overdue: { name: 'replica_overdue', text: 'select * from waybill.overdue_attempts($1)' },
  expireAttempt: {
    name: 'replica_expire_attempt',
    text: 'select waybill.expire_attempt($1, $2, $3) as ended',
  },
  finishReleases: {
    name: 'replica_finish_releases',
    text: 'select waybill.finish_releases($1)',
  },
  status: {
    name: 'replica_status',
    text: `select jsonb_build_object(
          'registered', count(*) filter (where status = 'registered'),
          'ready', count(*) filter (where status = 'ready'),
          'draining', count(*) filter (where status = 'draining'),
          'drained', count(*) filter (where status = 'drained'),
          'offline', count(*) filter (where status = 'offline')) as replicas,
        (select count(*) from waybill.route_attempts where settled_at is null) as "openAttempts",
        count(*) filter (where circuit_open_until is not null) as "circuitsOpen",
        coalesce(sum(capacity) filter (where status = 'ready'), 0)::bigint as capacity,
        coalesce(sum(active_assignments), 0)::bigint as "activeAssignments"
      from waybill.replicas`,
  },
} as const satisfies Record<string, Statement>;

/** Lifecycle calls over a pool of role `waybill_lifecycle`. */
export function registryAdministrator(db: Database): RegistryAdministrator {
  const ask = async (
    statement: Statement,
    call: LifecycleCall,
    ...rest: readonly unknown[]
  ): Promise<LifecycleAnswer> => {
    const values = [call.replicaId, call.requestId, call.previousSequence, ...rest];
    return LifecycleAnswerRow.parse(onlyRow(await db.query(statement, values))['answer']);
  };
  return {
    register: (call) => ask(replicaStatements.register, call, call.storeEpoch),
    heartbeat: (call) => ask(replicaStatements.heartbeat, call, call.healthy),
    drain: (call) => ask(replicaStatements.drain, call),
    offline: (call) => ask(replicaStatements.offline, call),
  };
}

/** Identities of replicas over a pool of role `waybill_lifecycle`: a host names no tenant. */
export function registryReader(db: Database): RegistryReader {
  return {
    async replica(replicaId) {
      const [row] = await db.query(replicaStatements.read, [replicaId]);
      return row === undefined ? null : ReplicaIdentityRow.parse(row);
    },
  };
}

/** Sweep and figures over a pool of role `waybill_operations`. */
export function fleetStatusProvider(db: Database): FleetStatusProvider {
  return {
    sweep: (limit) => sweepRoutes(db, limit),
    async status() {
      return FleetStatusRow.parse(onlyRow(await db.query(replicaStatements.status, [])));
    },
  };
}

/**
 * Marks the replicas first, then ends each attempt in a transaction of its own: no sweep holds the
 * locks of two actions (docs/architecture, "Routes"). What it leaves, the next one finds.
 */
async function sweepRoutes(
  db: Database,
  limit: number,
): Promise<{ readonly offline: number; readonly settled: number }> {
  const offline = Number(onlyRow(await db.query(replicaStatements.expire, [limit]))['count']);
  const overdue = await db.query(replicaStatements.overdue, [limit]);
  let settled = 0;
  for (const row of overdue) {
    const { tenant_id: tenant, action_id: action, fence } = OverdueAttempt.parse(row);
    const [answer] = await db.query(replicaStatements.expireAttempt, [tenant, action, fence]);
    if (answer?.['ended'] === true) settled += 1;
  }
  await db.query(replicaStatements.finishReleases, [limit]);
  return { offline, settled };
}
