/** What a token's limits mean for actions: it starts, stops and decides only what it may use. */
import { capabilityCatalog } from '../db/capabilities';
import type { ActionRef } from '../domain/action-service';
import { WaybillError } from '../domain/errors';
import { readAction } from './actions';
import type { HttpDeps } from './deps';
import { isNarrowed, requirePermitted } from './token-limits';
import type { Principal } from './tokens';

/**
 * Whether the token may use the capability. A contract never changes, so what is looked up here holds.
 * @throws WaybillError `capability_not_permitted`, or `capability_unavailable` where its class is unknown
 */
export async function requireUse(
  { data }: HttpDeps,
  principal: Principal,
  capabilityId: string,
): Promise<void> {
  if (principal.limits.maxSideEffect === null) {
    requirePermitted(principal, { capabilityId, sideEffect: null });
    return;
  }
  const contract = await capabilityCatalog(data).find(principal.tenantId, capabilityId);
  if (contract === null) throw new WaybillError('capability_unavailable');
  requirePermitted(principal, contract);
}

/**
 * The same of an action that is there; one that is not is for the caller to notice.
 * @throws WaybillError as `requireUse`
 */
export async function requireUseOf(
  deps: HttpDeps,
  principal: Principal,
  ref: ActionRef,
): Promise<void> {
  if (!isNarrowed(principal)) return;
  const action = await readAction(deps, ref);
  if (action !== null) await requireUse(deps, principal, action.capabilityId);
}
