/** A tenant's bindings of a capability, each with the first broken link of its chain. */
import type { TenantId } from '../domain/ids';
import type { BindingFault } from '../domain/routes';
import type { BindingEntry, RateLimit, RegistryState } from './state';

export interface Bound extends BindingEntry {
  readonly connectorId: string;
  readonly version: string;
  readonly manifestDigest: string;
  readonly rateLimit: RateLimit | null;
  readonly profiles: readonly string[];
  readonly fault: BindingFault | null;
}

/** Best priority first. */
export function bindingChain(state: RegistryState, tenant: TenantId, capability: string): Bound[] {
  return state.bindings
    .filter((binding) => binding.tenantId === tenant && binding.capabilityId === capability)
    .map((binding) => bound(state, binding, null))
    .sort(
      (one, other) => one.priority - other.priority || compare(one.instanceId, other.instanceId),
    );
}

/** What a route is pinned to; the instance's newer version or credential does not matter. */
export interface Pin {
  readonly version: string;
  readonly credentialRevision: string;
}

/** The binding with its chain as it is now, or as the route pins it. */
export function bound(state: RegistryState, binding: BindingEntry, pin: Pin | null): Bound {
  const { tenantId, instanceId } = binding;
  const instance = state.instances.find(
    (entry) => entry.tenantId === tenantId && entry.instanceId === instanceId,
  );
  const connectorId = instance?.connectorId ?? '';
  const wanted = pin?.version ?? instance?.version ?? '';
  const version = state.versions.find(
    (entry) => entry.connectorId === connectorId && entry.version === wanted,
  );
  const revision = pin?.credentialRevision ?? binding.credentialRevision;
  const credential = state.credentials.find(
    (entry) =>
      entry.tenantId === tenantId &&
      entry.instanceId === instanceId &&
      entry.credentialRevision === revision,
  );
  const fault = (): BindingFault | null => {
    if (!binding.enabled) return 'binding_disabled';
    if (instance?.status !== 'enabled') return 'instance_disabled';
    if (state.connectors.get(connectorId)?.enabled !== true) return 'connector_disabled';
    if (version?.status !== 'active' && version?.status !== 'deprecated') {
      return 'version_not_active';
    }
    if (version.evidenceUntil <= state.nowMs()) return 'evidence_expired';
    if (!version.capabilities.includes(binding.capabilityId)) return 'capability_not_offered';
    return credential?.status === 'active' ? null : 'credential_revoked';
  };
  return {
    ...binding,
    ...{ connectorId, version: wanted, manifestDigest: version?.manifestDigest ?? '' },
    ...{ rateLimit: version?.rateLimit ?? null, profiles: version?.profiles ?? [], fault: fault() },
  };
}

/** Whether its class, or an enabled binding of the tenant, says that the capability needs an approval. */
export function approvalNeeded(
  state: RegistryState,
  { tenantId, capabilityId }: Pick<BindingEntry, 'tenantId' | 'capabilityId'>,
): boolean {
  return (
    state.capabilities.get(capabilityId)?.sideEffect === 'external' ||
    state.bindings.some(
      (binding) =>
        binding.tenantId === tenantId &&
        binding.capabilityId === capabilityId &&
        binding.enabled &&
        binding.approvalRequired,
    )
  );
}

/** Order of texts by code unit, the same everywhere. */
export function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
