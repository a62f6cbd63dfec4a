/** The fleet in memory: lifecycle calls, the sweep, figures. */
import type {
  FleetStatus,
  FleetStatusProvider,
  LifecycleAnswer,
  LifecycleCall,
  RegistryAdministrator,
  RegistryReader,
  ReplicaStatus,
} from '../domain/registry-ports';
import { endAttempt, openAttemptOf, overdueCause } from './attempts';
import type { RegistryState, ReplicaEntry } from './state';

/** Answers kept for repeated calls. */
const ANSWERS_KEPT = 20;

export function memoryAdministrator(state: RegistryState): RegistryAdministrator {
  const renew = (replica: ReplicaEntry) => {
    replica.leaseEndsAt = state.nowMs() + state.settings.replicaLeaseMs;
  };
  const carry = (operation: string, call: LifecycleCall, work: (replica: ReplicaEntry) => void) =>
    Promise.resolve(carryOut(state, operation, call, work));
  return {
    register: (call) =>
      carry('register', call, (replica) => {
        replica.status = 'registered';
        replica.incarnation += 1;
        replica.storeEpoch = call.storeEpoch;
        replica.contrary = state.settings.replicaHysteresis - 1;
        renew(replica);
      }),
    heartbeat: (call) =>
      carry('heartbeat', call, (replica) => {
        observe(state, replica, call.healthy);
        renew(replica);
      }),
    drain: (call) =>
      carry('drain', call, (replica) => {
        if (replica.status !== 'drained') replica.status = 'draining';
      }),
    offline: (call) =>
      carry('offline', call, (replica) => {
        replica.status = 'offline';
        replica.leaseEndsAt = Number.NEGATIVE_INFINITY;
        replica.contrary = 0;
      }),
  };
}

function carryOut(
  state: RegistryState,
  operation: string,
  call: LifecycleCall,
  work: (replica: ReplicaEntry) => void,
): LifecycleAnswer {
  const replica = state.replicas.get(call.replicaId);
  if (replica === undefined) return { kind: 'unknown_replica' };
  const { sequence, answers } = replica;
  const before = answers.get(call.requestId);
  if (before?.operation === operation) return before.answer;
  if (before !== undefined || call.previousSequence !== sequence) {
    return { kind: 'stale_sequence', sequence };
  }
  const gone = replica.status === 'offline' || replica.leaseEndsAt <= state.nowMs();
  if (operation !== 'register' && gone) return { kind: 'must_register', sequence };
  work(replica);
  replica.sequence += 1;
  replica.healthRevision += 1;
  const leaseMs = Math.max(0, replica.leaseEndsAt - state.nowMs());
  const { incarnation, status } = replica;
  const answer: LifecycleAnswer = {
    ...{ kind: 'accepted', sequence: replica.sequence, incarnation, status, leaseMs },
  };
  answers.set(call.requestId, { operation, answer });
  const [oldest] = answers.keys();
  if (answers.size > ANSWERS_KEPT && oldest !== undefined) answers.delete(oldest);
  return answer;
}

/** Ready and not ready change after several heartbeats in a row that say so. */
function observe(state: RegistryState, replica: ReplicaEntry, healthy: boolean): void {
  if (replica.status === 'draining' && replica.activeAssignments === 0) replica.status = 'drained';
  if (replica.status !== 'registered' && replica.status !== 'ready') return;
  replica.contrary = (replica.status === 'registered') === healthy ? replica.contrary + 1 : 0;
  if (replica.contrary < state.settings.replicaHysteresis) return;
  replica.status = replica.status === 'ready' ? 'registered' : 'ready';
  replica.contrary = 0;
}

export function memoryReader(state: RegistryState): RegistryReader {
  return {
    replica(id) {
      const replica = state.replicas.get(id);
      if (replica === undefined) return Promise.resolve(null);
      const { replicaId, tenantId, instanceId, version, endpoint, peerDid, status } = replica;
      const { incarnation, healthRevision, storeEpoch } = replica;
      return Promise.resolve({
        ...{ replicaId, tenantId, instanceId, version, endpoint, peerDid, status },
        ...{ incarnation, healthRevision, storeEpoch },
      });
    },
  };
}

export function memoryFleet(state: RegistryState): FleetStatusProvider {
  return {
    sweep: (limit) => Promise.resolve(sweep(state, limit)),
    status: () => Promise.resolve(status(state)),
  };
}

function sweep(state: RegistryState, limit: number) {
  const expired = [...state.replicas.values()]
    .filter((replica) => replica.status !== 'offline' && replica.leaseEndsAt <= state.nowMs())
    .sort((one, other) => one.leaseEndsAt - other.leaseEndsAt)
    .slice(0, limit);
  for (const replica of expired) {
    Object.assign(replica, {
      ...{ status: 'offline', sequence: replica.sequence + 1, contrary: 0 },
      healthRevision: replica.healthRevision + 1,
    });
  }
  let settled = 0;
  for (const action of state.actions.values()) {
    const attempt = openAttemptOf(action);
    const cause = attempt === null ? null : overdueCause(state, attempt);
    if (attempt === null || cause === null || settled === limit) continue;
    endAttempt(state, action, attempt, { settlement: 'lease_expired', cause, evidence: {} });
    settled += 1;
  }
  return { offline: expired.length, settled };
}

function status(state: RegistryState): FleetStatus {
  const replicas = [...state.replicas.values()];
  const count = (wanted: ReplicaStatus) =>
    replicas.filter((replica) => replica.status === wanted).length;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const ready = replicas.filter((replica) => replica.status === 'ready');
  return {
    replicas: {
      ...{ registered: count('registered'), ready: ready.length, draining: count('draining') },
      ...{ drained: count('drained'), offline: count('offline') },
    },
    openAttempts: [...state.actions.values()].filter((action) => openAttemptOf(action)).length,
    circuitsNotClosed: replicas.filter(({ circuitOpenUntil }) => circuitOpenUntil !== null).length,
    capacity: sum(ready.map(({ capacity }) => capacity)),
    activeAssignments: sum(replicas.map(({ activeAssignments }) => activeAssignments)),
  };
}
