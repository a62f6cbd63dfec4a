/** From a fleet and what is published to the rows that differ, and what is told of them. */
import { createHash } from 'node:crypto';
import type { PublicationEvent, PublicationRows } from '../../db/publications';
import type { EventPayloads } from '../../domain/events';
import { subscriptionId, tenantId } from '../../domain/ids';
import { canonicalJson } from '../../schemas/canonical-json';
import type {
  ConnectorRow,
  SettingsRow,
  SubscriptionRow,
  TargetRow,
  TenantKey,
  VersionKey,
  VersionRow,
} from '../../schemas/catalog-rows';
import type { Fleet } from '../../schemas/fleet';
import type { ConnectorDocument, FleetKind, SettingsDocument } from '../../schemas/fleet/documents';
import type { Intended, Published } from './catalog-view';
import {
  asJson,
  instanceRow,
  intendedCatalog,
  keyOf,
  things,
  versionKey,
  versionRow,
} from './catalog-view';
import type { FieldChange } from './differences';
import { differences } from './differences';
import { subscriptionRows } from './subscription-rows';

/** What a publication does to one thing. */
export interface FleetChange {
  readonly kind: FleetKind;
  /** `github@1.0.0` for a connector version. */
  readonly id: string;
  readonly tenant?: string;
  readonly action: 'create' | 'update';
  readonly fields: readonly FieldChange[];
}

export interface FleetChanges {
  readonly changes: readonly FleetChange[];
  readonly rows: PublicationRows;
}

/** The tenant of what belongs to no tenant: no tenant's name begins with an underscore. */
const PLATFORM = '_platform';

/** Assumes a fleet without mistakes. */
export function fleetChanges(fleet: Fleet, published: Published): FleetChanges {
  const intended = intendedCatalog(fleet, published);
  const settings = settingsDifference(fleet, published.settings);
  const versions = things(fleet.connectors)
    .map((thing) => versionDifference(thing, published))
    .filter(differs);
  const instances = things(fleet.instances)
    .map((thing) =>
      tenantDifference('Instance', instanceRow(thing, published), published.instances),
    )
    .filter(differs);
  const targets = things(fleet.targets)
    .map(({ tenant, id, http }): TargetRow => ({ tenant, id, http: asJson(http) }))
    .map((row) => tenantDifference('Target', row, published.targets))
    .filter(differs);
  const subscriptions = subscriptionRows(fleet, published, intended)
    .map((row) => tenantDifference('Subscription', row, published.subscriptions))
    .filter(differs);
  return {
    changes: [settings, versions, instances, targets, subscriptions]
      .flat()
      .map(({ change }) => change),
    rows: {
      settings: settings[0]?.row ?? null,
      connectors: newConnectors(fleet, published),
      versions: versions.map(({ row }) => ({ ...row, digest: contentDigest(row) })),
      instances: instances.map(({ row }) => row),
      targets: targets.map(({ row }) => row),
      subscriptions: subscriptions.map(({ row }) => row),
      ingresses: subscriptions.flatMap(({ row }) => ingressRow(row, published)),
      connectorEvents: versions.flatMap(({ row }) => connectorEvents(row, fleet, published)),
      subscriptionEvents: subscriptions.map(({ row }) => subscriptionEvent(row, intended)),
    },
  };
}

interface Difference<Row> {
  readonly row: Row;
  readonly change: FleetChange;
}

function differs({ change }: Difference<unknown>): boolean {
  return change.fields.length > 0;
}

function settingsDifference(fleet: Fleet, before: SettingsRow): Difference<SettingsRow>[] {
  return things(fleet.settings)
    .map((thing) => {
      const row = settingsRow(thing, before);
      const fields = differences(before, row);
      return {
        row,
        change: { kind: 'Settings', id: 'settings', action: 'update', fields } as const,
      };
    })
    .filter(differs);
}

function settingsRow(thing: SettingsDocument, before: SettingsRow): SettingsRow {
  return {
    replayWindowMinutes: thing.replayWindowMinutes ?? before.replayWindowMinutes,
    defaultRetry:
      thing.defaultRetry === undefined ? before.defaultRetry : asJson(thing.defaultRetry),
    rejectedBytesMinutes: thing.rejectedBytesMinutes ?? before.rejectedBytesMinutes,
  };
}

function versionDifference(thing: ConnectorDocument, published: Published): Difference<VersionRow> {
  const row = versionRow(thing, published);
  const before = published.versions.get(versionKey(row));
  const shown = ({ status, webhookScheme, retry }: VersionRow) => ({
    status,
    webhookScheme,
    retry,
  });
  const { name, provider } = thing;
  const fields = before
    ? differences(shown(before), shown(row))
    : differences(null, { name, provider, ...shown(row) });
  const action = before === undefined ? 'create' : 'update';
  const tenant = thing.tenant === null ? {} : { tenant: thing.tenant };
  return { row, change: { kind: 'Connector', id: versionKey(row), ...tenant, action, fields } };
}

function tenantDifference<Row extends TenantKey>(
  kind: FleetKind,
  row: Row,
  published: ReadonlyMap<string, Row>,
): Difference<Row> {
  const { tenant, id, ...after } = row;
  const before = published.get(keyOf(row));
  const known =
    before && Object.fromEntries(Object.entries(before).filter(([name]) => name in after));
  const fields = differences(known ?? null, after);
  const action = before === undefined ? 'create' : 'update';
  return { row, change: { kind, id, tenant, action, fields } };
}

function newConnectors(fleet: Fleet, published: Published): ConnectorRow[] {
  const rows = things(fleet.connectors)
    .filter(({ id }) => !published.connectors.has(id))
    .map(({ id, name, provider, tenant }) => [id, { id, name, provider, tenant }] as const);
  return [...new Map(rows).values()];
}

/** Over everything of a version that never changes. */
function contentDigest({ connector, version, webhookScheme, retry }: VersionRow): string {
  const content = canonicalJson({ connector, version, webhookScheme, retry });
  return createHash('sha256').update(content).digest('hex');
}

function ingressRow(row: SubscriptionRow, published: Published): PublicationRows['ingresses'] {
  const { tenant, id, ingress } = row;
  const before = published.subscriptions.get(keyOf(row))?.ingress ?? null;
  if (ingress === null || canonicalJson(before) === canonicalJson(ingress)) return [];
  return [{ tenant, id, ...ingress }];
}

function connectorEvents(
  row: VersionRow,
  fleet: Fleet,
  published: Published,
): PublicationEvent<VersionKey>[] {
  const { connector, version, status } = row;
  const about = things(fleet.connectors).find(({ id }) => id === connector);
  const before = published.versions.get(versionKey(row));
  if (about === undefined || before?.status === status) return [];
  const tenant = about.tenant ?? PLATFORM;
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
