/** Resolving in memory: the best usable binding of a capability, or of an interface's capabilities. */
import type { ResolutionAnswer, ResolutionWish } from '../domain/capability-resolution';
import type { TenantId } from '../domain/ids';
import { bindingChain, compare, type Bound } from './bindings';
import type { RegistryState } from './state';

export function resolveCapability(
  state: RegistryState,
  tenant: TenantId,
  wish: ResolutionWish,
): ResolutionAnswer {
  const revision = state.catalogRevision;
  const chain = [...state.capabilities.values()]
    .filter((contract) =>
      'capabilityId' in wish
        ? contract.capabilityId === wish.capabilityId
        : contract.interfaceName === wish.interfaceName,
    )
    .flatMap((contract) =>
      bindingChain(state, tenant, contract.capabilityId).map((b) => ({ ...contract, ...b })),
    )
    .sort(bestFirst);
  const [best] = chain;
  if (best === undefined) return { kind: 'binding_unavailable', why: 'no_binding', revision };
  if (best.fault !== null) return { kind: 'binding_unavailable', why: best.fault, revision };
  const { interfaceName, instanceId, connectorId, version, manifestDigest } = best;
  const capabilities = chain
    .filter((entry) => entry.fault === null && entry.instanceId === instanceId)
    .map(({ capabilityId, sideEffect, recovery, contractDigest, priority, policyRevision }) => ({
      ...{ capabilityId, sideEffect, recovery, contractDigest, priority, policyRevision },
    }))
    .sort((one, other) => compare(one.capabilityId, other.capabilityId));
  return {
    ...{ kind: 'resolved', revision, interfaceName, instanceId, connectorId, version },
    ...{ provider: state.connectors.get(connectorId)?.provider ?? '', manifestDigest },
    capabilities,
  };
}

function bestFirst(one: Bound, other: Bound): number {
  return (
    Number(one.fault !== null) - Number(other.fault !== null) ||
    one.priority - other.priority ||
    compare(one.instanceId, other.instanceId) ||
    compare(one.capabilityId, other.capabilityId)
  );
}
