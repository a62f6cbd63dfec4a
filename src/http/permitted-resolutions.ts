/** Where new actions would go, as far as a token may use what goes there; for HTTP and gRPC alike. */
import type { ResolutionAnswer, ResolutionWish } from '../domain/capability-resolution';
import { WaybillError } from '../domain/errors';
import type { CapabilityCatalog } from '../domain/registry-ports';
import { permits, requirePermitted, requirePermittedId } from './token-limits';
import type { Principal } from './tokens';

/**
 * Of an interface, the capabilities that the token may use; a capability by its id is one of them.
 * @throws WaybillError `capability_not_permitted` where none is left
 */
export async function resolveFor(
  catalog: CapabilityCatalog,
  principal: Principal,
  wish: ResolutionWish,
): Promise<ResolutionAnswer> {
  // Nothing is told of an id beyond the token, not even whether it is there.
  if ('capabilityId' in wish) requirePermittedId(principal, wish.capabilityId);
  const answer = await catalog.resolve(principal.tenantId, wish);
  if (answer.kind !== 'resolved') return answer;
  if ('capabilityId' in wish) {
    for (const used of answer.capabilities) requirePermitted(principal, used);
    return answer;
  }
  const capabilities = answer.capabilities.filter((used) => permits(principal, used));
  if (capabilities.length > 0) return { ...answer, capabilities };
  const detail = `The token allows no capability of the interface ${answer.interfaceName}.`;
  throw new WaybillError('capability_not_permitted', detail);
}
