/** The ledger of actions in memory. */
import { createHash } from 'node:crypto';
import { ACTION_BIRTH_STATE, actionMayFollow, isOpenAction } from '../domain/action-states';
import type { ActionState } from '../domain/action-states';
import type {
  ActionFacts,
  ActionLedger,
  ActionMove,
  ActionStart,
  MoveAnswer,
  StartAnswer,
} from '../domain/registry-ports';
import type { ActionResult } from '../domain/routes';
import { moveTo } from './attempts';
import type { ActionEntry, RegistryState } from './state';
import { keyOf } from './state';

/** The state that closes an action with this outcome. */
export const CLOSING_STATE: Readonly<Record<ActionResult['outcome'], ActionState>> = {
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

export function memoryLedger(state: RegistryState): ActionLedger {
  return {
    startAction: (start) => Promise.resolve(startAction(state, start)),
    moveAction: (move) => Promise.resolve(moveAction(state, move)),
  };
}

function startAction(state: RegistryState, start: ActionStart): StartAnswer {
  const { tenantId, actionId, capabilityId, affinityKey, retryBudget } = start;
  const requestDigest = createHash('sha256').update(start.request).digest('hex');
  const key = keyOf(tenantId, actionId);
  const known = state.actions.get(key) ?? state.tombstones.get(key);
  if (known !== undefined) {
    const same = known.capabilityId === capabilityId && known.requestDigest === requestDigest;
    return { kind: same ? 'existing' : 'conflict', action: factsOf(state, known) };
  }
  const { ifCatalogRevision = null } = start;
  if (ifCatalogRevision !== null && ifCatalogRevision !== state.catalogRevision) {
    return { kind: 'stale_plan', revision: state.catalogRevision };
  }
  const action: ActionEntry = {
    ...{ tenantId, actionId, capabilityId, requestDigest, affinityKey, retryBudget },
    ...{ deadlineAt: state.nowMs() + start.deadlineMs, state: ACTION_BIRTH_STATE, version: 1 },
    ...{ reason: null, approvalId: null, result: null, route: null, fence: 0, attempts: [] },
    ...{ routeRetiredAt: null, retiredRoutes: [] },
  };
  state.actions.set(key, action);
  return { kind: 'started', action: factsOf(state, action) };
}

function moveAction(state: RegistryState, move: ActionMove): MoveAnswer {
  const action = state.actions.get(keyOf(move.tenantId, move.actionId));
  if (action === undefined) return { kind: 'unknown_action' };
  if (action.state === move.to) return { kind: 'already', action: factsOf(state, action) };
  const result = action.result ?? move.result;
  const closes = !isOpenAction(move.to);
  const fits = !closes || (result !== null && CLOSING_STATE[result.outcome] === move.to);
  if (!move.from.includes(action.state) || !actionMayFollow(action.state, move.to) || !fits) {
    return { kind: 'refused', action: factsOf(state, action) };
  }
  moveTo(action, move.to);
  action.reason = move.reason;
  if (closes) action.result = result;
  return { kind: 'moved', action: factsOf(state, action) };
}

function factsOf(state: RegistryState, action: ActionEntry): ActionFacts {
  const { capabilityId, version, requestDigest, result, reason, retryBudget, affinityKey } = action;
  return {
    ...{ capabilityId, state: action.state, version, requestDigest, result, reason },
    ...{ retryBudget, affinityKey, deadlineInMs: Math.max(0, action.deadlineAt - state.nowMs()) },
  };
}
