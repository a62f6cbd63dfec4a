/**
 * The part of the catalog that a fleet touches: what is published now, and what would be there with
 * the fleet's documents laid over it.
 */
import {
  readCatalogHead,
  readConnectors,
  readIngressOwners,
  readInstances,
  readSubscriptions,
  readTargets,
  readVersions,
} from '../../db/catalog';
import type { Run } from '../../db/database';
import type {
  CatalogHead,
  ConnectorRow,
  IngressOwner,
  InstanceRow,
  PublishedInstance,
  SubscriptionRow,
  TargetRow,
  TenantKey,
  VersionKey,
  VersionRow,
} from '../../schemas/catalog-rows';
import type { Fleet } from '../../schemas/fleet';
import type { ConnectorDocument, InstanceDocument } from '../../schemas/fleet/documents';

/** What is published now, of everything that a fleet names; maps by `keyOf` and `versionKey`. */
export interface Published extends CatalogHead {
  readonly connectors: ReadonlyMap<string, ConnectorRow>;
  readonly versions: ReadonlyMap<string, VersionRow>;
  readonly instances: ReadonlyMap<string, PublishedInstance>;
  readonly targets: ReadonlyMap<string, TargetRow>;
  readonly subscriptions: ReadonlyMap<string, SubscriptionRow>;
  readonly ingressOwners: ReadonlyMap<string, IngressOwner>;
}

export const keyOf = ({ tenant, id }: TenantKey): string => `${tenant}/${id}`;
export const versionKey = ({ connector, version }: VersionKey): string => `${connector}@${version}`;

export async function readPublished(run: Run, fleet: Fleet): Promise<Published> {
  const instances = things(fleet.instances);
  const subscriptions = things(fleet.subscriptions);
  const head = await readCatalogHead(run);
  const knownInstances = await readInstances(run, [
    ...instances,
    ...subscriptions.map(({ tenant, instance }) => ({ tenant, id: instance })),
  ]);
  const versions: VersionKey[] = [
    ...things(fleet.connectors).map(({ id, version }) => ({ connector: id, version })),
    ...instances,
    ...knownInstances,
  ];
  return {
    ...head,
    connectors: byKey(
      await readConnectors(run, unique(versions.map((key) => key.connector))),
      idOf,
    ),
    versions: byKey(await readVersions(run, versions), versionKey),
    instances: byKey(knownInstances, keyOf),
    targets: byKey(await readTargets(run, targetKeys(fleet)), keyOf),
    subscriptions: byKey(await readSubscriptions(run, subscriptions, revoked(fleet)), keyOf),
    ingressOwners: byKey(await readIngressOwners(run, refs(fleet)), ({ ref }) => ref),
  };
}

/** The catalog as it would be after the publication, for what the checks look at. */
export interface Intended {
  readonly connector: (id: string) => Pick<ConnectorRow, 'tenant'> | undefined;
  readonly version: (key: VersionKey) => VersionRow | undefined;
  readonly instance: (key: TenantKey) => InstanceRow | undefined;
  readonly hasTarget: (key: TenantKey) => boolean;
}

export function intendedCatalog(fleet: Fleet, published: Published): Intended {
  const connectors = new Map(things(fleet.connectors).map((thing) => [thing.id, thing]));
  const versions = new Map(
    things(fleet.connectors).map((thing) => {
      const row = versionRow(thing, published);
      return [versionKey(row), row];
    }),
  );
  const instances = new Map(
    things(fleet.instances).map((thing) => [keyOf(thing), instanceRow(thing, published)]),
  );
  const targets = new Set(things(fleet.targets).map(keyOf));
  return {
    connector: (id) => published.connectors.get(id) ?? connectors.get(id),
    version: (key) => versions.get(versionKey(key)) ?? published.versions.get(versionKey(key)),
    instance: (key) => instances.get(keyOf(key)) ?? published.instances.get(keyOf(key)),
    hasTarget: (key) => targets.has(keyOf(key)) || published.targets.has(keyOf(key)),
  };
}

/** A document's row; a status that it leaves out stays, and is `active` for a new version. */
export function versionRow(thing: ConnectorDocument, published: Published): VersionRow {
  const key = { connector: thing.id, version: thing.version };
  const before = published.versions.get(versionKey(key));
  return {
    ...key,
    status: thing.status ?? before?.status ?? 'active',
    webhookScheme: asJson(thing.webhookScheme),
    retry: asJson(thing.retry),
  };
}

/** A document's row; a status that it leaves out stays, and is `enabled` for a new instance. */
export function instanceRow(thing: InstanceDocument, published: Published): InstanceRow {
  const { tenant, id, connector, version, grants } = thing;
  const before = published.instances.get(keyOf(thing));
  return {
    tenant,
    id,
    connector,
    version,
    grants,
    status: thing.status ?? before?.status ?? 'enabled',
  };
}

/** What JSON keeps of a value: a field that is undefined is not there. */
export function asJson(value: unknown): VersionRow['retry'] {
  return JSON.parse(JSON.stringify(value)) as VersionRow['retry'];
}

export function things<Thing>(placed: readonly { readonly thing: Thing }[]): Thing[] {
  return placed.map(({ thing }) => thing);
}

function targetKeys(fleet: Fleet): TenantKey[] {
  return [
    ...things(fleet.targets),
    ...things(fleet.subscriptions).map(({ tenant, target }) => ({ tenant, id: target })),
  ];
}

function revoked(fleet: Fleet): TenantKey[] {
  return things(fleet.instances).filter(({ status }) => status === 'revoked');
}

function refs(fleet: Fleet): string[] {
  return things(fleet.subscriptions).flatMap(({ ingress }) => (ingress ? [ingress.ref] : []));
}

const idOf = ({ id }: ConnectorRow): string => id;

function byKey<Row>(rows: readonly Row[], key: (row: Row) => string): Map<string, Row> {
  return new Map(rows.map((row) => [key(row), row]));
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
