/** The catalog in memory: what bindings serve, in pages that are bounded by their number of rows. */
import type { TenantId } from '../domain/ids';
import type {
  BoundContract,
  CapabilityCatalog,
  CapabilityContract,
  CapabilityDefinition,
  CapabilityPageAnswer,
  CapabilityPageRequest,
} from '../domain/registry-ports';
import { approvalNeeded, bindingChain, compare } from './bindings';
import { resolveCapability } from './resolving';
import type { RegistryState } from './state';

/** The capabilities of which a binding of the tenant stands on a whole chain. */
export function memoryCatalog(state: RegistryState): CapabilityCatalog {
  const find = (tenant: TenantId, capabilityId: string): BoundContract | null => {
    const served = servedProfiles(state, tenant, capabilityId) !== null;
    const contract = served ? state.capabilities.get(capabilityId) : undefined;
    if (contract === undefined) return null;
    return {
      ...contract,
      approvalNeeded: approvalNeeded(state, { tenantId: tenant, capabilityId }),
    };
  };
  return {
    find: (tenant, capability) => Promise.resolve(find(tenant, capability)),
    page: (request) => Promise.resolve(page(state, request)),
    contracts: (tenant, ids) =>
      Promise.resolve({
        revision: state.catalogRevision,
        contracts: ids.flatMap((id) => find(tenant, id) ?? []),
      }),
    revision: () => Promise.resolve(state.catalogRevision),
    resolve: (tenant, wish) => Promise.resolve(resolveCapability(state, tenant, wish)),
  };
}

function page(state: RegistryState, request: CapabilityPageRequest): CapabilityPageAnswer {
  const revision = state.catalogRevision;
  const { after, limit } = request;
  if (after !== null && after.revision !== revision) return { kind: 'stale_cursor', revision };
  const all = [...state.capabilities.values()]
    .filter(({ capabilityId }) => capabilityId > (after?.capabilityId ?? ''))
    .sort((one, other) => compare(one.capabilityId, other.capabilityId))
    .filter((contract) => isWanted(contract, request))
    .flatMap((contract) => definition(state, contract, request) ?? [])
    .filter(({ profiles }) => request.profile === null || profiles.includes(request.profile));
  const capabilities = all.slice(0, limit);
  const next = all.length > limit ? (capabilities.at(-1)?.capabilityId ?? null) : null;
  return { kind: 'page', revision, capabilities, next };
}

function isWanted(
  { capabilityId, interfaceName }: CapabilityContract,
  wanted: CapabilityPageRequest,
): boolean {
  if (wanted.capabilityId !== null && wanted.capabilityId !== capabilityId) return false;
  if (wanted.interfaceName !== null && wanted.interfaceName !== interfaceName) return false;
  // Ids have plain letters only.
  const search = wanted.search?.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()) ?? '';
  return [capabilityId, interfaceName].some((text) => text.includes(search));
}

function definition(
  state: RegistryState,
  contract: CapabilityContract,
  { tenantId, unbound }: CapabilityPageRequest,
): CapabilityDefinition | null {
  const { capabilityId } = contract;
  const served = tenantId === null ? null : servedProfiles(state, tenantId, capabilityId);
  const profiles = served ?? (unbound ? offeredProfiles(state, capabilityId) : null);
  return profiles && { ...contract, bound: served !== null, profiles };
}

/** Null: no binding serves it. */
function servedProfiles(
  state: RegistryState,
  tenant: TenantId,
  capability: string,
): string[] | null {
  const serving = bindingChain(state, tenant, capability).filter(({ fault }) => fault === null);
  return serving.length === 0 ? null : sorted(serving);
}

/** Null: no active version offers it. */
function offeredProfiles(state: RegistryState, capability: string): string[] | null {
  const offering = state.versions.filter(
    ({ connectorId, capabilities, status, evidenceUntil }) =>
      status === 'active' &&
      evidenceUntil > state.nowMs() &&
      capabilities.includes(capability) &&
      state.connectors.get(connectorId)?.enabled === true,
  );
  return offering.length === 0 ? null : sorted(offering);
}

function sorted(versions: readonly { readonly profiles: readonly string[] }[]): string[] {
  return [...new Set(versions.flatMap(({ profiles }) => profiles))].sort(compare);
}
