/** Which replica a new route goes to: filter before ordering. */
import type { ReserveAnswer, TopologyPreference } from '../domain/routes';
import type { Bound } from './bindings';
import { compare } from './bindings';
import type { RegistryState, ReplicaEntry } from './state';

/** Live, not full, and its circuit closed or half open with a probe to spare. */
export function hasRoom(state: RegistryState, replica: ReplicaEntry): boolean {
  return (
    replica.leaseEndsAt > state.nowMs() &&
    replica.activeAssignments < replica.capacity &&
    circuitAdmits(state, replica)
  );
}

function circuitAdmits(state: RegistryState, { circuitOpenUntil, probes }: ReplicaEntry): boolean {
  if (circuitOpenUntil === null) return true;
  return circuitOpenUntil <= state.nowMs() && probes < state.settings.circuitProbes;
}

/** The best replica for a new route on one of these bindings; null: none has room. */
export function bestReplica(
  state: RegistryState,
  level: readonly Bound[],
  actionId: string,
  topology: TopologyPreference,
): ReplicaEntry | null {
  const order = (one: ReplicaEntry, other: ReplicaEntry): number =>
    Number(other.topology.region === topology.region) -
      Number(one.topology.region === topology.region) ||
    Number(other.topology.zone === topology.zone) - Number(one.topology.zone === topology.zone) ||
    one.activeAssignments - other.activeAssignments ||
    weight(actionId, one.replicaId) - weight(actionId, other.replicaId) ||
    compare(one.instanceId, other.instanceId) ||
    compare(one.replicaId, other.replicaId);
  const eligible = replicasOf(state, level).filter(
    (replica) => replica.status === 'ready' && hasRoom(state, replica) && suits(replica, topology),
  );
  return eligible.sort(order)[0] ?? null;
}

/** Why none of these bindings has a replica to give. */
export function replicaFault(
  state: RegistryState,
  level: readonly Bound[],
  topology: TopologyPreference,
): ReserveAnswer {
  const fault = (why: 'none_registered' | 'none_ready' | 'wrong_topology', retryInMs: number) =>
    ({ kind: 'replica_unavailable', why, retryInMs }) as const;
  const now = state.nowMs();
  const all = replicasOf(state, level);
  if (all.length === 0) return fault('none_registered', 5_000);
  const live = all.filter(({ status, leaseEndsAt }) => status === 'ready' && leaseEndsAt > now);
  if (live.length === 0) return fault('none_ready', 1_000);
  const suitable = live.filter((replica) => suits(replica, topology));
  if (suitable.length === 0) return fault('wrong_topology', 5_000);
  if (!suitable.some((replica) => circuitAdmits(state, replica))) {
    const first = Math.min(...suitable.map(({ circuitOpenUntil }) => circuitOpenUntil ?? now));
    const retryInMs = Math.max(250, first - now);
    return { kind: 'replica_unavailable', why: 'circuit_open', retryInMs };
  }
  return { kind: 'replica_unavailable', why: 'at_capacity', retryInMs: 250 };
}

function replicasOf(state: RegistryState, level: readonly Bound[]): ReplicaEntry[] {
  return [...state.replicas.values()].filter((replica) =>
    level.some(
      ({ tenantId, instanceId, version }) =>
        replica.tenantId === tenantId &&
        replica.instanceId === instanceId &&
        replica.version === version,
    ),
  );
}

function suits(replica: ReplicaEntry, topology: TopologyPreference): boolean {
  const { capacityClass, region } = replica.topology;
  return (
    (topology.capacityClass === null || capacityClass === topology.capacityClass) &&
    (topology.crossRegion || topology.region === null || region === topology.region)
  );
}

/** FNV-1a over both ids: spreads actions over equal replicas, the same way each time. */
function weight(actionId: string, replicaId: string): number {
  let hash = 0x811c9dc5;
  for (const character of `${actionId}/${replicaId}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return hash;
}
