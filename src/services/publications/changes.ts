/** From a fleet and what is published to the rows that differ, and what is told of them. */
import type { PublicationEvent, PublicationRows } from '../../db/publications';
import { type EventPayloads, PLATFORM_TENANT } from '../../domain/events';
import { subscriptionId, tenantId } from '../../domain/ids';
import { canonicalJson } from '../../schemas/canonical-json';
import type {
  ConnectorRow,
  EvidenceRow,
  SettingsRow,
  SubscriptionRow,
  TenantKey,
  VersionKey,
  VersionRow,
} from '../../schemas/catalog-rows';
import type { Fleet } from '../../schemas/fleet';
import type { ConnectorDocument, FleetKind } from '../../schemas/fleet/documents';
import type { Published } from './catalog-view';
import { keyOf, things, versionKey } from './catalog-view';
import { eventSinkDifferences } from './event-sink-rows';
import { revocations } from './evidence';
import type { Intended } from './intended';
import { intendedCatalog } from './intended';
import { routingDifferences, routingRows } from './routing-changes';
import type { Difference, FleetChange } from './row-differences';
import { differs, rowDifference } from './row-differences';
import {
  evidenceRow,
  instanceRow,
  settingsRow,
  targetRow,
  versionContent,
  versionDigest,
} from './rows';
import { subscriptionRows } from './subscription-rows';

export interface FleetChanges {
  readonly changes: readonly FleetChange[];
  readonly rows: PublicationRows;
}

/** Assumes a fleet without mistakes. */
export function fleetChanges(fleet: Fleet, published: Published): FleetChanges {
  const intended = intendedCatalog(fleet, published);
  const written = connectorDocuments(fleet);
  const settings = settingsDifference(fleet, published.settings);
  const connectors = connectorDifferences(fleet, published);
  const versions = versionDifferences(fleet, published, intended);
  const evidence = evidenceDifferences(fleet, published);
  const instances = things(fleet.instances)
    .map((thing) => instanceRow(thing, published))
    .map((row) => tenantDifference('Instance', row, published.instances))
    .filter(differs);
  const routing = routingDifferences(fleet, published, intended);
  const { capabilities, quotaPolicies, bindings, replicas } = routing;
  const targets = things(fleet.targets)
    .map((thing) => tenantDifference('Target', targetRow(thing), published.targets))
    .filter(differs);
  const subscriptions = subscriptionRows(fleet, published, intended)
    .map((row) => tenantDifference('Subscription', row, published.subscriptions))
    .filter(differs);
  const eventSinks = eventSinkDifferences(fleet, published);
  return {
    // In the order in which one refers to the other.
    changes: [
      ...[settings, capabilities, connectors.filter(isUpdate), versions, evidence],
      ...[quotaPolicies, instances, bindings, replicas],
      ...[targets, subscriptions, eventSinks],
    ]
      .flat()
      .map(({ change }) => change),
    rows: {
      settings: settings[0]?.row ?? null,
      connectors: connectors.map(({ row }) => row),
      versions: versions.map(({ row }) => ({ ...row, digest: versionDigest(row) })),
      evidence: evidence.map(({ row }) => row),
      instances: instances.map(({ row }) => row),
      ...routingRows(routing),
      targets: targets.map(({ row }) => row),
      subscriptions: subscriptions.map(({ row }) => row),
      eventSinks: eventSinks.map(({ row }) => row),
      ingresses: subscriptions.flatMap(({ row }) => ingressRow(row, published)),
      connectorEvents: versions.flatMap(({ row }) =>
        connectorEvents(row, written.get(row.connector), published),
      ),
      subscriptionEvents: subscriptions.map(({ row }) => subscriptionEvent(row, intended)),
    },
  };
}

function settingsDifference(fleet: Fleet, before: SettingsRow): Difference<SettingsRow>[] {
  return things(fleet.settings)
    .map((thing) => {
      const row = settingsRow(thing, before);
      const names = { kind: 'Settings', id: 'settings', tenant: null } as const;
      return rowDifference(names, row, { before, after: row });
    })
    .filter(differs);
}

/** New connectors, and those that are enabled or disabled. */
function connectorDifferences(fleet: Fleet, published: Published): Difference<ConnectorRow>[] {
  const documents = things(fleet.connectors);
  const said = new Map<string, boolean>();
  for (const { id, enabled } of documents) if (enabled !== null) said.set(id, enabled);
  const rows = documents.map(({ id, name, provider, tenant }): [string, ConnectorRow] => {
    const enabled = said.get(id) ?? published.connectors.get(id)?.enabled ?? true;
    return [id, { id, name, provider, tenant, enabled }];
  });
  return [...new Map(rows).values()]
    .map((row) => {
      const names = { kind: 'Connector', id: row.id, tenant: row.tenant } as const;
      const { id, name, provider, enabled } = row;
      const after = { name, provider, enabled };
      return rowDifference(names, row, { before: published.connectors.get(id), after });
    })
    .filter(differs);
}

/** What is new of a connector is told with its first version. */
function isUpdate({ change }: Difference<ConnectorRow>): boolean {
  return change.action === 'update';
}

/** The versions of the file, and those beside it that its statements revoke. */
function versionDifferences(
  fleet: Fleet,
  published: Published,
  intended: Intended,
): Difference<VersionRow>[] {
  const shown = (row: VersionRow) => ({ status: row.status, ...versionContent(row) });
  const written = things(fleet.connectors).map(({ id, version }) => ({ connector: id, version }));
  const keys = new Map([...written, ...revocations(fleet)].map((key) => [versionKey(key), key]));
  const inFile = connectorDocuments(fleet);
  const rows = [...keys.values()].flatMap((key) => intended.version(key) ?? []);
  return rows
    .map((row) => {
      const before = published.versions.get(versionKey(row));
      const about = inFile.get(row.connector) ?? published.connectors.get(row.connector);
      const { name, provider, tenant = null } = about ?? {};
      const names = { kind: 'Connector', id: versionKey(row), tenant } as const;
      return rowDifference(names, row, {
        before: before && shown(before),
        after: { ...(before ? {} : { name, provider }), ...shown(row) },
      });
    })
    .filter(differs);
}

/** New ones: what is there never changes. */
function evidenceDifferences(fleet: Fleet, published: Published): Difference<EvidenceRow>[] {
  return things(fleet.evidence)
    .map(evidenceRow)
    .filter(({ id }) => !published.evidence.has(id))
    .map((row) => {
      const { id, issuedAtMs, expiresAtMs, ...said } = row;
      const expiresAt = expiresAtMs === null ? null : new Date(expiresAtMs).toISOString();
      const after = { ...said, issuedAt: new Date(issuedAtMs).toISOString(), expiresAt };
      return rowDifference({ kind: 'Evidence', id, tenant: null }, row, {
        before: undefined,
        after,
      });
    });
}

function tenantDifference<Row extends TenantKey>(
  kind: FleetKind,
  row: Row,
  published: ReadonlyMap<string, Row>,
): Difference<Row> {
  const { tenant, id, ...after } = row;
  return rowDifference({ kind, id, tenant }, row, { before: published.get(keyOf(row)), after });
}

function ingressRow(row: SubscriptionRow, published: Published): PublicationRows['ingresses'] {
  const { tenant, id, ingress } = row;
  const before = published.subscriptions.get(keyOf(row))?.ingress ?? null;
  if (ingress === null || canonicalJson(before) === canonicalJson(ingress)) return [];
  return [{ tenant, id, ...ingress }];
}

/** By id; of several versions any one: they agree on what belongs to the connector. */
function connectorDocuments(fleet: Fleet): ReadonlyMap<string, ConnectorDocument> {
  return new Map(things(fleet.connectors).map((thing) => [thing.id, thing]));
}

/** `about`: the file's document of the connector; there is none beside a revocation alone. */
function connectorEvents(
  row: VersionRow,
  about: ConnectorDocument | undefined,
  published: Published,
): PublicationEvent<VersionKey>[] {
  const { connector, version, status } = row;
  const before = published.versions.get(versionKey(row));
  if (about === undefined || before?.status === status) return [];
  const tenant = about.tenant ?? PLATFORM_TENANT;
  const common = { connectorId: connector, version, tenantId: tenant };
  if (status === 'active') {
    const payload: EventPayloads['ConnectorActivated'] = { ...common, provider: about.provider };
    return [{ name: 'ConnectorActivated', key: { connector, version }, tenant, payload }];
  }
  if (status === 'deprecated') {
    const payload: EventPayloads['ConnectorDeprecated'] = common;
    return [{ name: 'ConnectorDeprecated', key: { connector, version }, tenant, payload }];
  }
  return [];
}

function subscriptionEvent(row: SubscriptionRow, intended: Intended): PublicationEvent<TenantKey> {
  const { tenant, id, instance, state } = row;
  const payload: EventPayloads['ConnectorSubscriptionChanged'] = {
    subscriptionId: subscriptionId(id),
    tenantId: tenantId(tenant),
    connectorId: intended.instance({ tenant, id: instance })?.connector ?? '',
    active: state === 'active',
  };
  return { name: 'ConnectorSubscriptionChanged', key: { tenant, id }, tenant, payload };
}
