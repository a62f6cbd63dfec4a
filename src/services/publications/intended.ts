/** The catalog as it would be after the publication, for what the checks look at. */
import type {
  BindingRow,
  ConnectorRow,
  InstanceRow,
  SettingsRow,
  TenantKey,
  VersionKey,
  VersionRow,
} from '../../schemas/catalog-rows';
import type { Fleet } from '../../schemas/fleet';
import type { Published } from './catalog-view';
import { bindingKey, keyOf, things, versionKey } from './catalog-view';
import { revocations } from './evidence';
import { bindingRow, instanceRow, settingsRow, versionRow } from './rows';

export interface Intended {
  readonly settings: SettingsRow;
  readonly connector: (id: string) => Pick<ConnectorRow, 'tenant'> | undefined;
  readonly version: (key: VersionKey) => VersionRow | undefined;
  readonly instance: (key: TenantKey) => InstanceRow | undefined;
  readonly hasTarget: (key: TenantKey) => boolean;
  readonly hasCapability: (id: string) => boolean;
  readonly hasQuotaPolicy: (id: string) => boolean;
  /** Those of the file, and those beside them in the catalog. */
  readonly bindings: readonly BindingRow[];
  readonly bindingsOf: (instance: TenantKey) => readonly BindingRow[];
}

/** The fleet's documents laid over what is published. */
export function intendedCatalog(fleet: Fleet, published: Published): Intended {
  const connectors = new Map(things(fleet.connectors).map((thing) => [thing.id, thing]));
  const versions = new Map(
    things(fleet.connectors).map((thing) => {
      const row = versionRow(thing, published);
      return [versionKey(row), row];
    }),
  );
  const revoked = new Set(revocations(fleet).map(versionKey));
  const instances = new Map(
    things(fleet.instances).map((thing) => [keyOf(thing), instanceRow(thing, published)]),
  );
  const written = things(fleet.bindings).map(
    (thing) => [bindingKey(thing), bindingRow(thing)] as const,
  );
  const bindings = [...new Map([...published.bindings, ...written]).values()];
  const bindingsOf = byInstance(bindings);
  const targets = new Set(things(fleet.targets).map(keyOf));
  const capabilities = new Set(things(fleet.capabilities).map(({ id }) => id));
  const quotaPolicies = new Set(things(fleet.quotaPolicies).map(({ id }) => id));
  const settings = things(fleet.settings)[0];
  return {
    settings: settings ? settingsRow(settings, published.settings) : published.settings,
    connector: (id) => published.connectors.get(id) ?? connectors.get(id),
    version: (key) => {
      const row = versions.get(versionKey(key)) ?? published.versions.get(versionKey(key));
      return row && revoked.has(versionKey(key)) ? { ...row, status: 'revoked' } : row;
    },
    instance: (key) => instances.get(keyOf(key)) ?? published.instances.get(keyOf(key)),
    hasTarget: (key) => targets.has(keyOf(key)) || published.targets.has(keyOf(key)),
    hasCapability: (id) => capabilities.has(id) || published.capabilities.has(id),
    hasQuotaPolicy: (id) => quotaPolicies.has(id) || published.quotaPolicies.has(id),
    bindings,
    bindingsOf: (key) => bindingsOf.get(keyOf(key)) ?? [],
  };
}

function byInstance(bindings: readonly BindingRow[]): ReadonlyMap<string, readonly BindingRow[]> {
  const groups = new Map<string, BindingRow[]>();
  for (const row of bindings) {
    const key = keyOf({ tenant: row.tenant, id: row.instance });
    const group = groups.get(key) ?? [];
    group.push(row);
    groups.set(key, group);
  }
  return groups;
}
