/** The registry in memory, set up directly. */
import { createHash } from 'node:crypto';
import { tenantId } from '../../src/domain/ids';
import { memoryRegistry } from '../../src/memory/registry';
import { bury } from '../../src/memory/retention';
import type { RegistryState } from '../../src/memory/state';
import { emptyState, keyOf } from '../../src/memory/state';
import type { AccountSeed, CatalogChange, RegistryFixture, ReplicaSeed } from './fixture';
import { ANYWHERE, CAPABILITY } from './fixture';

type Rollout = NonNullable<CatalogChange['rollout']>;

const digest = (text: string) => createHash('sha256').update(text).digest('hex');

export function memoryFixture(): RegistryFixture {
  const clock = { nowMs: Date.parse('2026-01-01T00:00:00Z') };
  return memoryFixtureOver(
    emptyState(() => clock.nowMs),
    clock,
  );
}

/** Over a state that the test looks into. */
export function memoryFixtureOver(state: RegistryState, clock: { nowMs: number }): RegistryFixture {
  return {
    registry: (topology = ANYWHERE) => memoryRegistry(state, topology),
    account(seed) {
      addAccount(state, seed);
      return Promise.resolve();
    },
    replica(seed) {
      addReplica(state, seed);
      return Promise.resolve();
    },
    change(change) {
      applyChange(state, change);
      return Promise.resolve();
    },
    elapse(ms) {
      clock.nowMs += ms;
      return Promise.resolve();
    },
    held() {
      const held = [...state.counters].filter(([, counter]) => counter.held !== 0);
      const entries = held.map(([key, counter]) => [key.replace('\u0000', ' '), counter.held]);
      return Promise.resolve(Object.fromEntries(entries) as Record<string, number>);
    },
    lateEvidence(tenant, action, fence) {
      const attempts = state.actions.get(keyOf(tenant, action))?.attempts ?? [];
      const attempt = attempts.find((one) => one.fence === fence);
      return Promise.resolve(attempt?.lateEvidence ?? []);
    },
    bury: (tenant, action) => Promise.resolve(bury(state, tenantId(tenant), action)),
    recovering(held) {
      state.recovering = held;
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
}

function addAccount(state: RegistryState, seed: AccountSeed): void {
  const tenant = tenantId(seed.tenant);
  state.capabilities.set(CAPABILITY, {
    ...{ capabilityId: CAPABILITY, interfaceName: 'work-items', sideEffect: 'shared-write' },
    ...{ recovery: 'lookup', requestSchema: {}, resultSchema: {} },
    contractDigest: digest(CAPABILITY),
  });
  if (!state.connectors.has(seed.connector)) {
    state.connectors.set(seed.connector, {
      ...{ connectorId: seed.connector, provider: seed.connector, enabled: true },
    });
    state.versions.push({
      ...{ connectorId: seed.connector, version: '1.0.0', manifestDigest: digest('manifest') },
      ...{ capabilities: [CAPABILITY], profiles: [], status: 'active', rateLimit: null },
      evidenceUntil: Number.POSITIVE_INFINITY,
    });
  }
  const of = { tenantId: tenant, instanceId: seed.instance };
  state.instances.push({
    ...{ ...of, connectorId: seed.connector, version: '1.0.0', status: 'enabled' },
  });
  state.credentials.push({ ...of, credentialRevision: 'r1', status: 'active' });
  state.bindings.push({
    ...{ ...of, capabilityId: CAPABILITY, priority: seed.priority, enabled: true },
    ...{ spill: seed.spill, spread: seed.spread, policyRevision: 1, credentialRevision: 'r1' },
    ...{ quotaPolicyId: seed.quota, approvalRequired: false },
  });
}

function rollOut(state: RegistryState, { instance, version }: Rollout): void {
  const entry = instanceOf(state, instance);
  const before = state.versions.find(({ connectorId }) => connectorId === entry.connectorId);
  if (before === undefined) throw new Error('the instance has no version');
  state.versions.push({ ...before, version });
  entry.version = version;
}

function instanceOf(state: RegistryState, id: string) {
  const found = state.instances.find(({ instanceId }) => instanceId === id);
  if (found === undefined) throw new Error(`there is no instance ${id}`);
  return found;
}

function addReplica(state: RegistryState, seed: ReplicaSeed): void {
  const { version } = instanceOf(state, seed.instance);
  state.replicas.set(seed.replica, {
    ...{ replicaId: seed.replica, tenantId: tenantId(seed.tenant), instanceId: seed.instance },
    ...{ version, endpoint: 'http://127.0.0.1:1', peerDid: `did:key:${seed.replica}` },
    topology: { region: seed.region, zone: seed.zone, capacityClass: seed.capacityClass },
    ...{ capacity: seed.capacity, status: 'offline', leaseEndsAt: Number.NEGATIVE_INFINITY },
    ...{ sequence: 0, incarnation: 0, healthRevision: 0, storeEpoch: null, contrary: 0 },
    ...{ activeAssignments: 0, unknownFailures: 0, circuitOpenUntil: null, probes: 0 },
    answers: new Map(),
  });
}

function changeOffers(state: RegistryState, change: CatalogChange): void {
  const { offer, removedOffer, profiles, published } = change;
  const of = (connector: string) =>
    state.versions.filter(({ connectorId }) => connectorId === connector);
  if (offer !== undefined) {
    const { capability: capabilityId, interfaceName, connector, instance } = offer;
    state.capabilities.set(capabilityId, {
      ...{ capabilityId, interfaceName, sideEffect: 'read', recovery: 'lookup' },
      ...{ requestSchema: {}, resultSchema: {}, contractDigest: digest(capabilityId) },
    });
    for (const entry of of(connector)) entry.capabilities = [...entry.capabilities, capabilityId];
    if (instance !== null) {
      state.bindings.push({
        ...{ tenantId: tenantId(instance.tenant), instanceId: instance.id, capabilityId },
        ...{ priority: 100, enabled: true, spill: 'never', spread: false, policyRevision: 1 },
        ...{ credentialRevision: 'r1', quotaPolicyId: null, approvalRequired: false },
      });
    }
  }
  for (const entry of of(removedOffer?.connector ?? '')) {
    entry.capabilities = entry.capabilities.filter((id) => id !== removedOffer?.capability);
  }
  for (const entry of of(profiles?.connector ?? '')) entry.profiles = profiles?.names ?? [];
  if (published === true) state.catalogRevision += 1;
}

function applyChange(state: RegistryState, change: CatalogChange): void {
  changeOffers(state, change);
  if (change.rollout !== undefined) rollOut(state, change.rollout);
  const { binding, instance, connector, version, credential, quota, rate, settings } = change;
  const pick = <Entry>(list: readonly Entry[], is: (entry: Entry) => boolean): Entry => {
    const found = list.find(is);
    if (found === undefined) throw new Error('the change names nothing');
    return found;
  };
  if (binding !== undefined) {
    const entry = pick(state.bindings, ({ instanceId }) => instanceId === binding.instance);
    entry.enabled = binding.enabled;
  }
  if (instance !== undefined) {
    const entry = pick(state.instances, ({ instanceId }) => instanceId === instance.instance);
    entry.status = instance.status;
  }
  if (connector !== undefined) {
    const all = [...state.connectors.values()];
    pick(all, ({ connectorId }) => connectorId === connector.connector).enabled = connector.enabled;
  }
  if (version !== undefined) {
    const entry = pick(state.versions, ({ connectorId }) => connectorId === version.connector);
    entry.status = version.status;
  }
  if (change.evidence !== undefined) {
    const { connector: id, endsInMs } = change.evidence;
    pick(state.versions, ({ connectorId }) => connectorId === id).evidenceUntil =
      state.nowMs() + endsInMs;
  }
  if (credential !== undefined) {
    const entry = pick(state.credentials, ({ instanceId }) => instanceId === credential.instance);
    entry.status = credential.status;
  }
  if (quota !== undefined) state.quotas.set(quota.id, quota.limits);
  if (rate !== undefined) {
    pick(state.versions, ({ connectorId }) => connectorId === rate.connector).rateLimit =
      rate.limit;
  }
  if (settings !== undefined) state.settings = { ...state.settings, ...settings };
}
