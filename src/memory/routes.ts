/** The resolver in memory. */
import { actionMayFollow } from '../domain/action-states';
import type { TenantId } from '../domain/ids';
import type { ActionTargetResolver } from '../domain/registry-ports';
import type {
  ActionResult,
  ExtendAnswer,
  RecordResultAnswer,
  SettleAnswer,
  SettleRequest,
  TopologyPreference,
} from '../domain/routes';
import { endAttempt, keepLateEvidence, moveTo } from './attempts';
import { CLOSING_STATE } from './actions';
import { holdRate } from './quotas';
import { fenceAfter, reserve } from './reserving';
import type { ActionEntry, RegistryState } from './state';
import { keyOf } from './state';

type At = Parameters<ActionTargetResolver['recordResult']>[0];
type Evidence = Readonly<Record<string, unknown>>;

/** @param topology where this deployment prefers new routes */
export function memoryResolver(
  state: RegistryState,
  topology: TopologyPreference,
): ActionTargetResolver {
  const actionOf = (tenant: TenantId, id: string) => state.actions.get(keyOf(tenant, id));
  return {
    reserveRoute: (request) => Promise.resolve(reserve(state, request, topology)),
    settleRoute: (request) => Promise.resolve(settle(state, request)),
    recordResult: (at, result, evidence) =>
      Promise.resolve(recordResult(state, at, result, evidence)),
    extendReservation: (at, holdMs) => Promise.resolve(extend(state, at, holdMs)),
    readRoute: (tenant, id) => Promise.resolve(actionOf(tenant, id)?.route ?? null),
    nextFence(tenant, id, aboveFence) {
      const action = actionOf(tenant, id);
      if (action === undefined || action.route === null) return Promise.resolve(null);
      action.fence = fenceAfter(state, action.fence, aboveFence);
      return Promise.resolve(action.fence);
    },
  };
}

/** The action if it has a route that has given out this fence; null: for a person. */
function routedAction(state: RegistryState, at: At): ActionEntry | null {
  const action = state.actions.get(keyOf(at.tenantId, at.actionId));
  if (action === undefined || action.route === null || at.fence > action.fence) return null;
  return action;
}

function settle(state: RegistryState, request: SettleRequest): SettleAnswer {
  const action = routedAction(state, request);
  if (action === null) return { kind: 'unknown_route' };
  const attempt = action.attempts.find(({ fence }) => fence === request.fence);
  if (attempt === undefined) return { kind: 'fence_lost', settlement: null };
  const { settlement, unknownCause, evidence } = request;
  if (attempt.settlement === null) {
    endAttempt(state, action, attempt, { settlement, cause: unknownCause, evidence });
    const { retryAfterMs = null } = request;
    if (retryAfterMs !== null && action.route !== null) {
      holdRate(state, action.route, retryAfterMs);
    }
    return { kind: 'settled' };
  }
  if (attempt.settlement === settlement) return { kind: 'already_settled' };
  keepLateEvidence(attempt, { settlement, unknownCause, evidence });
  return { kind: 'fence_lost', settlement: attempt.settlement };
}

function recordResult(
  state: RegistryState,
  at: At,
  result: ActionResult,
  evidence: Evidence,
): RecordResultAnswer {
  const action = routedAction(state, at);
  if (action === null) return { kind: 'unknown_route' };
  // A fencing call has no attempt of its own: what it learnt belongs to the one before it.
  const attempt = action.attempts.findLast(({ fence }) => fence <= at.fence);
  const known = action.result;
  if (known !== null) {
    if (sameResult(known, result)) return { kind: 'already_recorded' };
    if (attempt !== undefined) keepLateEvidence(attempt, { ...evidence, result });
    return { kind: 'conflict', result: known };
  }
  if (attempt !== undefined) keepLateEvidence(attempt, evidence);
  action.result = result;
  const closed = CLOSING_STATE[result.outcome];
  if (actionMayFollow(action.state, closed)) moveTo(action, closed);
  return { kind: 'recorded' };
}

function extend(state: RegistryState, at: At, holdMs: number): ExtendAnswer {
  const action = routedAction(state, at);
  if (action === null) return { kind: 'unknown_route' };
  const attempt = action.attempts.find(({ fence }) => fence === at.fence);
  const now = state.nowMs();
  if (attempt?.settlement !== null || attempt.deadlineAt <= now) return { kind: 'fence_lost' };
  attempt.deadlineAt = Math.max(attempt.deadlineAt, now + holdMs);
  return { kind: 'extended', deadlineInMs: attempt.deadlineAt - now };
}

function sameResult(one: ActionResult, other: ActionResult): boolean {
  return (
    one.outcome === other.outcome &&
    one.resultSha256 === other.resultSha256 &&
    one.errorCode === other.errorCode
  );
}
