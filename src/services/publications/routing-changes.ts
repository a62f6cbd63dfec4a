/** The rows of what routing needs that differ from what is published. */
import type { RoutingRows } from '../../db/routing-publications';
import type {
  BindingRow,
  CapabilityEntry,
  QuotaPolicyRow,
  ReplicaRow,
} from '../../schemas/catalog-rows';
import type { Fleet } from '../../schemas/fleet';
import type { Published } from './catalog-view';
import { bindingKey, things } from './catalog-view';
import type { Intended } from './intended';
import type { Difference } from './row-differences';
import { differs, rowDifference } from './row-differences';
import { bindingRow, capabilityEntry, contractDigest, replicaRow } from './rows';

export interface RoutingDifferences {
  readonly capabilities: readonly Difference<CapabilityEntry>[];
  readonly quotaPolicies: readonly Difference<QuotaPolicyRow>[];
  readonly bindings: readonly Difference<BindingRow>[];
  readonly replicas: readonly Difference<ReplicaRow>[];
}

/** Assumes a fleet without mistakes. */
export function routingDifferences(
  fleet: Fleet,
  published: Published,
  intended: Intended,
): RoutingDifferences {
  return {
    capabilities: things(fleet.capabilities)
      .map((thing) =>
        platformDifference('Capability', capabilityEntry(thing), published.capabilities),
      )
      .filter(differs),
    quotaPolicies: things(fleet.quotaPolicies)
      .map(({ id, limits }) =>
        platformDifference('QuotaPolicy', { id, limits }, published.quotaPolicies),
      )
      .filter(differs),
    bindings: things(fleet.bindings)
      .map((thing) => bindingDifference(bindingRow(thing), published))
      .filter(differs),
    replicas: things(fleet.replicas)
      .map((thing) => {
        const before = published.replicas.get(thing.id);
        const instance = intended.instance({ tenant: thing.tenant, id: thing.instance });
        return replicaDifference(replicaRow(thing, before, instance), before);
      })
      .filter(differs),
  };
}

export function routingRows(
  differences: RoutingDifferences,
): Omit<RoutingRows, 'versions' | 'instances'> {
  return {
    capabilities: differences.capabilities.map(({ row }) => ({
      ...row,
      digest: contractDigest(row),
    })),
    quotaPolicies: differences.quotaPolicies.map(({ row }) => row),
    bindings: differences.bindings.map(({ row }) => row),
    replicas: differences.replicas.filter(isNew).map(({ row }) => row),
    capacities: differences.replicas
      .filter((one) => !isNew(one))
      .map(({ row: { id, capacity } }) => ({ id, capacity })),
  };
}

function isNew({ change }: Difference<unknown>): boolean {
  return change.action === 'create';
}

function platformDifference<Row extends { readonly id: string }>(
  kind: 'Capability' | 'QuotaPolicy',
  row: Row,
  published: ReadonlyMap<string, Row>,
): Difference<Row> {
  const { id, ...after } = row;
  return rowDifference({ kind, id, tenant: null }, row, { before: published.get(id), after });
}

function bindingDifference(row: BindingRow, published: Published): Difference<BindingRow> {
  const { tenant, capability, instance, ...after } = row;
  const names = { kind: 'Binding', id: `${capability}@${instance}`, tenant } as const;
  return rowDifference(names, row, { before: published.bindings.get(bindingKey(row)), after });
}

function replicaDifference(
  row: ReplicaRow,
  before: ReplicaRow | undefined,
): Difference<ReplicaRow> {
  const { tenant, id, ...after } = row;
  return rowDifference({ kind: 'Replica', id, tenant }, row, { before, after });
}
