/** The fleet in Postgres: what hosts say of their replicas, and what ends when they fall silent. */
import type {
  FleetStatusProvider,
  LifecycleAnswer,
  LifecycleCall,
  RegistryAdministrator,
  RegistryReader,
} from '../domain/registry-ports';
import type { HostFacts } from '../schemas/replica-rows';
import {
  FleetStatusRow,
  HostFactsRow,
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
  host: {
    name: 'replica_host',
    text: `select r.peer_did as "peerDid", r.status, r.store_epoch as "storeEpoch",
        v.manifest_digest as "manifestDigest",
        floor(extract(epoch from clock_timestamp()) * 1000)::bigint as "nowMs"
      from waybill.replicas r join waybill.connector_versions v using (connector_id, version)
      where r.replica_id = $1`,
  },
  takeSweepTurn: {
    name: 'replica_take_sweep_turn',
    text: 'select waybill.take_sweep_turn($1) as mine',
  },
  leaveSweepTurn: {
    name: 'replica_leave_sweep_turn',
    text: 'select waybill.leave_sweep_turn($1)',
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
    text: fleetFigures('true'),
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

/**
 * What a host's lifecycle call is judged by, and the database's clock; null where there is no such
 * replica. Role waybill_lifecycle.
 */
export async function readHostFacts(db: Database, replicaId: string): Promise<HostFacts | null> {
  const [row] = await db.query(replicaStatements.host, [replicaId]);
  return row === undefined ? null : HostFactsRow.parse(row);
}

/**
 * Takes the turn of the sweep for `holdMs`: one process of the deployment has it at a time. False:
 * another one has it, or just did its round. Role waybill_operations.
 */
export async function takeSweepTurn(db: Database, holdMs: number): Promise<boolean> {
  return onlyRow(await db.query(replicaStatements.takeSweepTurn, [holdMs]))['mine'] === true;
}

/** Ends the turn: the next one begins after `pauseMs`, whoever takes it. */
export async function leaveSweepTurn(db: Database, pauseMs: number): Promise<void> {
  await db.query(replicaStatements.leaveSweepTurn, [pauseMs]);
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
 * locks of two actions (docs/architecture, "Routes"). What it leaves, the next one finds. An attempt
 * that cannot be ended now does not keep the others; then the first such failure is thrown.
 */
async function sweepRoutes(
  db: Database,
  limit: number,
): Promise<{ readonly offline: number; readonly settled: number }> {
  const offline = Number(onlyRow(await db.query(replicaStatements.expire, [limit]))['count']);
  const overdue = await db.query(replicaStatements.overdue, [limit]);
  const failures: unknown[] = [];
  let settled = 0;
  for (const row of overdue) {
    const { tenant_id: tenant, action_id: action, fence } = OverdueAttempt.parse(row);
    try {
      const [answer] = await db.query(replicaStatements.expireAttempt, [tenant, action, fence]);
      if (answer?.['ended'] === true) settled += 1;
    } catch (error) {
      failures.push(error);
    }
  }
  await db.query(replicaStatements.finishReleases, [limit]);
  if (failures.length > 0) throw failures[0];
  return { offline, settled };
}

/**
 * SQL for the figures of a fleet.
 * @param within the condition that replicas and attempts of it meet
 */
export function fleetFigures(within: string): string {
  return `select jsonb_build_object(
      'registered', count(*) filter (where status = 'registered'),
      'ready', count(*) filter (where status = 'ready'),
      'draining', count(*) filter (where status = 'draining'),
      'drained', count(*) filter (where status = 'drained'),
      'offline', count(*) filter (where status = 'offline')) as replicas,
    (select count(*) from waybill.route_attempts where ${within} and settled_at is null)
      as "openAttempts",
    count(*) filter (where circuit_open_until is not null) as "circuitsNotClosed",
    coalesce(sum(capacity) filter (where status = 'ready'), 0)::bigint as capacity,
    coalesce(sum(active_assignments), 0)::bigint as "activeAssignments"
    from waybill.replicas where ${within}`;
}
