/** Reserving in memory: the decisions of `waybill.reserve_route`, without locks. */
import type {
  ReserveAnswer,
  ReserveRequest,
  RouteAssignment,
  TopologyPreference,
} from '../domain/routes';
import { endAttempt, openAttemptOf, moveTo } from './attempts';
import type { Bound } from './bindings';
import { approvalNeeded, bindingChain, bound } from './bindings';
import { bestReplica, hasRoom, replicaFault } from './candidates';
import { takeQuotas } from './quotas';
import type { ActionEntry, AttemptEntry, RegistryState, ReplicaEntry } from './state';
import { keyOf } from './state';

const DAY_US = 86_400_000_000;

/** A try and the binding that it was refused for. */
interface Try {
  readonly answer: ReserveAnswer;
  readonly refusedBy: string | null;
}

export function reserve(
  state: RegistryState,
  request: ReserveRequest,
  topology: TopologyPreference,
): ReserveAnswer {
  const key = keyOf(request.tenantId, request.actionId);
  const action = state.actions.get(key) ?? state.tombstones.get(key);
  if (action === undefined) return { kind: 'unknown_action' };
  if (action.capabilityId !== request.capabilityId) {
    return { kind: 'conflict', detail: 'the action has another capability' };
  }
  if (action.requestDigest !== request.requestDigest) {
    return { kind: 'conflict', detail: 'the action has another request' };
  }
  const open = openAttemptOf(action);
  if (open !== null && open.deadlineAt <= state.nowMs()) {
    endAttempt(state, action, open, {
      ...{ settlement: 'lease_expired', cause: 'deadline', evidence: {} },
    });
  }
  if (action.result !== null) return { kind: 'finished', result: action.result };
  const known = answerFromAttempts(state, action, request);
  if (known !== null) return known;
  if (action.state !== 'requested') return { kind: 'not_requested', state: action.state };
  if (state.recovering) return { kind: 'recovering', retryInMs: 5_000 };
  if (action.approvalId === null && approvalNeeded(state, action)) {
    return { kind: 'approval_required' };
  }
  if (action.route !== null && action.routeRetiredAt === null)
    return reacquire(state, action, action.route, request);
  return chooseBinding(state, action, request, topology);
}

function answerFromAttempts(
  state: RegistryState,
  action: ActionEntry,
  request: ReserveRequest,
): ReserveAnswer | null {
  const last = action.attempts.at(-1);
  if (last === undefined) return null;
  const { attemptNo } = request;
  const mine = last.owner === request.owner;
  if (mine && attemptNo === last.attemptNo) {
    return last.settlement === null
      ? reserved(state, action, last)
      : { kind: 'settled', settlement: last.settlement, attemptNo };
  }
  if (last.settlement === null && (!mine || attemptNo > last.attemptNo)) {
    return { kind: 'in_progress', endsInMs: last.deadlineAt - state.nowMs() };
  }
  if (attemptNo <= last.attemptNo) return { kind: 'superseded', attemptNo: last.attemptNo };
  return null;
}

/** The pinned replica again, or nothing. */
function reacquire(
  state: RegistryState,
  action: ActionEntry,
  route: RouteAssignment,
  request: ReserveRequest,
): ReserveAnswer {
  const binding = state.bindings.find(
    (entry) =>
      entry.tenantId === route.tenantId &&
      entry.capabilityId === route.capabilityId &&
      entry.instanceId === route.instanceId,
  );
  if (binding === undefined) return { kind: 'binding_unavailable', why: 'no_binding' };
  const chain = bound(state, binding, route);
  if (chain.fault !== null) return { kind: 'binding_unavailable', why: chain.fault };
  const replica = state.replicas.get(route.replicaId);
  const serves = replica?.status === 'ready' || replica?.status === 'draining';
  if (replica === undefined || !serves || !hasRoom(state, replica)) {
    return { kind: 'replica_unavailable', why: 'pinned_unavailable', retryInMs: 1_000 };
  }
  return openReservation(state, action, { chain, replica, route }, request);
}

/** Binding by binding; the next one only where the one that has no capacity says so. */
function chooseBinding(
  state: RegistryState,
  action: ActionEntry,
  request: ReserveRequest,
  topology: TopologyPreference,
): ReserveAnswer {
  let chain = bindingChain(state, action.tenantId, action.capabilityId);
  if (chain.length === 0) return { kind: 'binding_unavailable', why: 'no_binding' };
  const { affinityKey } = request;
  const affinity = affinityKey === null ? null : keyOf(action.tenantId, affinityKey);
  const pinned = affinity === null ? undefined : state.affinities.get(affinity);
  const best = chain[0]?.fault ?? 'no_binding';
  chain = chain.filter(
    ({ fault, instanceId }) => fault === null && (pinned === undefined || instanceId === pinned),
  );
  if (chain.length === 0) {
    return {
      kind: 'binding_unavailable',
      why: pinned === undefined ? best : 'affinity_unavailable',
    };
  }
  let first: ReserveAnswer | null = null;
  while (chain.length > 0) {
    const level = chain.filter(({ priority }) => priority === chain[0]?.priority);
    const { answer, refusedBy } = place(state, action, level, { request, topology });
    if (answer.kind === 'reserved' && affinity !== null) {
      state.affinities.set(affinity, answer.route.instanceId);
    }
    if (answer.kind === 'reserved' || answer.kind === 'rate_limited') return answer;
    first ??= answer;
    const passed = level.filter(({ instanceId }) => refusedBy === null || instanceId === refusedBy);
    const stays = ({ spill, spread }: Bound) =>
      spill === 'never' && !(refusedBy !== null && spread && level.length > 1);
    if (passed.some(stays)) break;
    chain = chain.filter((entry) => !passed.includes(entry));
  }
  return first ?? { kind: 'binding_unavailable', why: best };
}

function place(
  state: RegistryState,
  action: ActionEntry,
  level: readonly Bound[],
  {
    request,
    topology,
  }: { readonly request: ReserveRequest; readonly topology: TopologyPreference },
): Try {
  const replica = bestReplica(state, level, action.actionId, topology);
  const chain = level.find(({ instanceId }) => instanceId === replica?.instanceId);
  if (replica === null || chain === undefined) {
    return { answer: replicaFault(state, level, topology), refusedBy: null };
  }
  const route = assign(state, action, chain, replica);
  const answer = openReservation(state, action, { chain, replica, route }, request);
  return { answer, refusedBy: answer.kind === 'capacity_exceeded' ? chain.instanceId : null };
}

function openReservation(
  state: RegistryState,
  action: ActionEntry,
  on: {
    readonly chain: Bound;
    readonly replica: ReplicaEntry;
    readonly route: RouteAssignment;
  },
  request: ReserveRequest,
): ReserveAnswer {
  const { chain, replica, route } = on;
  const taken = takeQuotas(state, chain, action.attempts.length > 0);
  if (taken.kind !== 'taken') return taken;
  const probe = replica.circuitOpenUntil !== null;
  replica.activeAssignments += 1;
  if (probe) replica.probes += 1;
  action.route = route;
  action.routeRetiredAt = null;
  action.fence = fenceAfter(state, action.fence, request.aboveFence);
  const attempt: AttemptEntry = {
    ...{ attemptNo: request.attemptNo, owner: request.owner, fence: action.fence, probe },
    ...{ replicaId: replica.replicaId, incarnation: replica.incarnation },
    ...{ healthRevision: replica.healthRevision, counters: taken.counters },
    ...{ deadlineAt: state.nowMs() + request.holdMs, settlement: null, cause: null },
    ...{ evidence: {}, lateEvidence: [] },
  };
  action.attempts.push(attempt);
  moveTo(action, 'reserved');
  return reserved(state, action, attempt);
}

/** Above every fence given out and the one that a host reported, at most 24 h ahead of the clock. */
export function fenceAfter(state: RegistryState, last: number, reported: number | null): number {
  const nowUs = Math.floor(state.nowMs() * 1_000);
  return Math.max(last + 1, nowUs, Math.min((reported ?? 0) + 1, nowUs + DAY_US));
}

function assign(
  state: RegistryState,
  { tenantId, actionId, capabilityId }: ActionEntry,
  chain: Bound,
  replica: ReplicaEntry,
): RouteAssignment {
  const { connectorId, instanceId, version, manifestDigest } = chain;
  const { replicaId, endpoint, topology, peerDid } = replica;
  return {
    ...{ tenantId, actionId, capabilityId, connectorId, instanceId, version, manifestDigest },
    ...{ replicaId, endpoint, topology, peerDid, peerPrincipalId: replicaId },
    ...{ peerPrincipalKind: 'connector-host', trustDomain: 'waybill' },
    transportProfile: endpoint.startsWith('https:') ? 'https' : 'http-loopback',
    ...{ catalogRevision: state.catalogRevision, bindingPolicyRevision: chain.policyRevision },
    ...{ credentialRevision: chain.credentialRevision, quotaPolicyId: chain.quotaPolicyId },
    assignedAt: new Date(state.nowMs()).toISOString(),
  };
}

function reserved(state: RegistryState, action: ActionEntry, attempt: AttemptEntry): ReserveAnswer {
  const { route } = action;
  if (route === null) return { kind: 'unknown_action' };
  const { attemptNo, fence, incarnation, healthRevision, probe, deadlineAt } = attempt;
  const deadlineInMs = Math.max(0, deadlineAt - state.nowMs());
  return {
    kind: 'reserved',
    route,
    reservation: { attemptNo, fence, deadlineInMs, incarnation, healthRevision, probe },
  };
}
