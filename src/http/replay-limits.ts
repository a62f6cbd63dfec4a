/** What a token's limits mean for replays: it repeats only what it could have asked for. */
import { showDelivery } from '../db/delivery-lists';
import { findConnection } from '../db/sending';
import type { DeliveryRef } from '../domain/delivery-activities';
import { WaybillError } from '../domain/errors';
import type { HttpDeps } from './deps';
import { isNarrowed, requirePermitted } from './token-limits';
import type { Principal } from './tokens';

/**
 * Whether the token may have a delivery sent again; one that is not there is for the caller to notice.
 * @throws WaybillError `capability_not_permitted`
 */
export async function requireReplay(
  { data }: Pick<HttpDeps, 'data'>,
  principal: Principal,
  ref: DeliveryRef,
): Promise<void> {
  if (!isNarrowed(principal)) return;
  const found = await showDelivery(data, ref);
  if (found === null) return;
  if (found.sending === null) {
    requireInbound(principal);
    return;
  }
  const { connectorId, instanceId, eventType: operation } = found;
  const wanted = { connectorId, instanceId, operation };
  const { operation: declared } = (await findConnection(data, ref.tenantId, wanted)) ?? {};
  const capabilityId = declared?.kind === 'action' ? declared.capabilityId : operation;
  requirePermitted(principal, { capabilityId, sideEffect: found.sending.sideEffect });
}

/**
 * Whether the token may have dispatched what vendors delivered: that may start whatever a target says.
 * @throws WaybillError `capability_not_permitted`
 */
export function requireInbound({ limits }: Principal): void {
  if (limits.capabilities === null) return;
  const detail = 'The token is limited to capabilities, and what vendors delivered is none.';
  throw new WaybillError('capability_not_permitted', detail);
}
