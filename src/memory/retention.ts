/** Retention in memory: what is left of an action once its time is over. */
import { isOpenAction } from '../domain/action-states';
import type { TenantId } from '../domain/ids';
import { openAttemptOf } from './attempts';
import type { RegistryState } from './state';
import { keyOf } from './state';

/** Makes a tombstone of a closed action that holds nothing; false: there is none such. */
export function bury(state: RegistryState, tenantId: TenantId, actionId: string): boolean {
  const key = keyOf(tenantId, actionId);
  const action = state.actions.get(key);
  if (action === undefined || isOpenAction(action.state) || openAttemptOf(action) !== null) {
    return false;
  }
  state.actions.delete(key);
  state.tombstones.set(key, {
    ...action,
    ...{ version: 1, reason: null, affinityKey: null, route: null, fence: 0, attempts: [] },
    ...{ routeRetiredAt: null, retiredRoutes: [] },
  });
  return true;
}
