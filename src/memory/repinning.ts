/** Moving pinned actions in memory: the decisions of `waybill.begin_repin` and `conclude_repin`. */
import type { RouteOperator } from '../domain/registry-ports';
import type { BeginRepin, ConcludeRepin, RepinFault } from '../domain/repin';
import { fenceAfter } from './reserving';
import type { ActionEntry, RegistryState } from './state';
import { keyOf } from './state';

const TIMEOUT_MS = 30_000;

export function memoryOperator(state: RegistryState): RouteOperator {
  return {
    beginRepin({ tenantId, actionId }, aboveFence) {
      const action = state.actions.get(keyOf(tenantId, actionId));
      return Promise.resolve(begin(state, action, aboveFence));
    },
    concludeRepin({ tenantId, actionId, fence }) {
      const action = state.actions.get(keyOf(tenantId, actionId));
      return Promise.resolve(conclude(state, action, fence));
    },
  };
}

function begin(
  state: RegistryState,
  action: ActionEntry | undefined,
  aboveFence: number | null,
): BeginRepin {
  if (action === undefined) return { kind: 'unknown_action' };
  const why = repinFault(action);
  if (why !== null) return { kind: 'refused', why };
  const { route } = action;
  if (route === null || action.routeRetiredAt !== null) return { kind: 'already' };
  action.fence = fenceAfter(state, action.fence, aboveFence);
  const replica = state.replicas.get(route.replicaId);
  return {
    ...{ kind: 'seal', route, fence: action.fence, incarnation: replica?.incarnation ?? 0 },
    ...{ storeEpoch: null, nowMs: state.nowMs(), sentAgoMs: null, timeoutMs: TIMEOUT_MS },
    mayBeOnTheWire: mayBeOnTheWire(action),
    approval: action.approvalId,
  };
}

function conclude(
  state: RegistryState,
  action: ActionEntry | undefined,
  fence: number,
): ConcludeRepin {
  if (action === undefined) return { kind: 'unknown_action' };
  const why = repinFault(action);
  if (why !== null) return { kind: 'refused', why };
  const { route } = action;
  if (route === null || action.routeRetiredAt !== null) return { kind: 'already' };
  if (action.fence !== fence) return { kind: 'refused', why: 'overtaken' };
  action.retiredRoutes.push({ route, fence });
  action.routeRetiredAt = state.nowMs();
  action.version += 1;
  return { kind: 'repinned' };
}

function repinFault(action: ActionEntry): RepinFault | null {
  if (action.result !== null) return 'closed';
  switch (action.state) {
    case 'unknown':
    case 'reconciling':
    case 'needs_operator':
      return 'outcome_unknown';
    case 'reserved':
    case 'dispatching':
    case 'cancelling':
      return 'attempt_open';
    case 'requested':
      return action.route === null ? 'no_route' : null;
    case 'awaiting_approval':
      return 'awaiting_approval';
    case 'completed':
    case 'failed':
    case 'cancelled':
      return 'closed';
  }
}

/** Of this route alone: what was sent on one that was taken back is sealed. */
function mayBeOnTheWire({ attempts, retiredRoutes }: ActionEntry): boolean {
  const before = retiredRoutes.at(-1)?.fence ?? 0;
  return attempts
    .filter(({ fence }) => fence > before)
    .some(
      ({ settlement, evidence }) =>
        settlement !== 'not_started' || (evidence['answer'] ?? 'not_sent') !== 'not_sent',
    );
}
