/** The part of the catalog that a fleet touches, as it is published now. */
import {
  lockSubscriptions,
  readCatalogHead,
  readConnectors,
  readIngressOwners,
  readInstances,
  readSubscriptions,
  readTargets,
  readVersions,
} from '../../db/catalog';
import type { Run } from '../../db/database';
import { readEventSinks } from '../../db/event-sinks';
import { readEvidence, readSpeakingEvidence } from '../../db/evidence';
import {
  readBindings,
  readCapabilities,
  readQuotaPolicies,
  readReplicas,
} from '../../db/routing-catalog';
import type {
  BindingKey,
  BindingRow,
  CapabilityEntry,
  CatalogHead,
  ConnectorRow,
  EvidenceRow,
  IngressOwner,
  PublishedInstance,
  QuotaPolicyRow,
  ReplicaRow,
  SubscriptionRow,
  TargetRow,
  TenantKey,
  VersionKey,
  VersionRow,
} from '../../schemas/catalog-rows';
import type { EventSinkRow } from '../../schemas/event-rows';
import type { Fleet } from '../../schemas/fleet';
import type { SubscriptionDocument } from '../../schemas/fleet/documents';
import { trustedKeys } from './evidence';

/** What is published now, of everything that a fleet names; maps by id, `keyOf` and the like. */
export interface Published extends CatalogHead {
  readonly capabilities: ReadonlyMap<string, CapabilityEntry>;
  readonly connectors: ReadonlyMap<string, ConnectorRow>;
  readonly versions: ReadonlyMap<string, VersionRow>;
  /** Statements that the fleet names. */
  readonly evidence: ReadonlyMap<string, EvidenceRow>;
  /** Of each of the versions and each kind the statement that counts by the fleet's own policy. */
  readonly speakingEvidence: readonly EvidenceRow[];
  readonly quotaPolicies: ReadonlyMap<string, QuotaPolicyRow>;
  readonly instances: ReadonlyMap<string, PublishedInstance>;
  /** Those named, and all others of the same capability or instance. */
  readonly bindings: ReadonlyMap<string, BindingRow>;
  /** By id alone, whose tenant's ever they are. */
  readonly replicas: ReadonlyMap<string, ReplicaRow>;
  readonly targets: ReadonlyMap<string, TargetRow>;
  readonly subscriptions: ReadonlyMap<string, SubscriptionRow>;
  readonly ingressOwners: ReadonlyMap<string, IngressOwner>;
  readonly eventSinks: ReadonlyMap<string, EventSinkRow>;
}

export const keyOf = ({ tenant, id }: TenantKey): string => `${tenant}/${id}`;
export const versionKey = ({ connector, version }: VersionKey): string => `${connector}@${version}`;
export const bindingKey = ({ tenant, capability, instance }: BindingKey): string =>
  `${tenant}/${capability}@${instance}`;

export async function readPublished(run: Run, fleet: Fleet): Promise<Published> {
  const head = await readCatalogHead(run);
  const knownInstances = await readInstances(run, instanceKeys(fleet));
  const versions = versionKeys(fleet, knownInstances);
  const connectors = unique(versions.map((key) => key.connector));
  return {
    ...head,
    ...(await readRouting(run, fleet)),
    connectors: byKey(await readConnectors(run, connectors), idOf),
    versions: byKey(await readVersions(run, versions), versionKey),
    evidence: byKey(await readEvidence(run, things(fleet.evidence).map(idOf)), idOf),
    speakingEvidence: await readSpeakingEvidence(run, versions, trustedKeys(fleet, head.settings)),
    instances: byKey(knownInstances, keyOf),
    targets: byKey(await readTargets(run, targetKeys(fleet)), keyOf),
    subscriptions: byKey(
      await readSubscriptions(run, things(fleet.subscriptions), revoked(fleet)),
      keyOf,
    ),
    eventSinks: byKey(await readEventSinks(run, things(fleet.eventSinks)), keyOf),
    ingressOwners: byKey(await readIngressOwners(run, refs(fleet)), ({ ref }) => ref),
  };
}

/** Its subscriptions as they are now, which nobody else changes until the end of the transaction. */
export async function lockPublishedSubscriptions(
  run: Run,
  fleet: Fleet,
): Promise<Published['subscriptions']> {
  return byKey(await lockSubscriptions(run, things(fleet.subscriptions), revoked(fleet)), keyOf);
}

async function readRouting(
  run: Run,
  fleet: Fleet,
): Promise<Pick<Published, 'capabilities' | 'quotaPolicies' | 'bindings' | 'replicas'>> {
  const bindings = things(fleet.bindings);
  const quotaPolicies = [
    ...things(fleet.quotaPolicies).map(idOf),
    ...bindings.flatMap(({ quotaPolicy }) => quotaPolicy ?? []),
  ];
  return {
    capabilities: byKey(await readCapabilities(run, unique(capabilityIds(fleet))), idOf),
    quotaPolicies: byKey(await readQuotaPolicies(run, unique(quotaPolicies)), idOf),
    bindings: byKey(await readBindings(run, bindings, things(fleet.instances)), bindingKey),
    replicas: byKey(await readReplicas(run, things(fleet.replicas).map(idOf)), idOf),
  };
}

export function things<Thing>(placed: readonly { readonly thing: Thing }[]): Thing[] {
  return placed.map(({ thing }) => thing);
}

function instanceKeys(fleet: Fleet): TenantKey[] {
  const users = [
    ...things(fleet.subscriptions),
    ...things(fleet.bindings),
    ...things(fleet.replicas),
  ];
  return [
    ...things(fleet.instances),
    ...users.map(({ tenant, instance }) => ({ tenant, id: instance })),
  ];
}

/** Versions that the fleet names, and those that its instances and replicas are on. */
function versionKeys(fleet: Fleet, known: readonly PublishedInstance[]): VersionKey[] {
  const instances = [...things(fleet.instances), ...known];
  // The connector of an instance never changes: whichever says it.
  const byName = new Map(instances.map((one) => [keyOf(one), one]));
  const replicas = things(fleet.replicas).flatMap(({ tenant, instance, version }) => {
    const at = byName.get(keyOf({ tenant, id: instance }));
    return at === undefined || version === null ? [] : [{ connector: at.connector, version }];
  });
  return [
    ...things(fleet.connectors).map(({ id, version }) => ({ connector: id, version })),
    ...things(fleet.evidence).map(({ statement }) => statement),
    ...instances,
    ...replicas,
  ];
}

function capabilityIds(fleet: Fleet): string[] {
  return [
    ...things(fleet.capabilities).map(idOf),
    ...things(fleet.connectors).flatMap(({ capabilities }) => capabilities),
    ...things(fleet.bindings).map(({ capability }) => capability),
    ...things(fleet.targets).flatMap(({ action }) => action?.capabilityId ?? []),
  ];
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
  return things(fleet.subscriptions).flatMap(refsOf);
}

/** Every reference that leads to the subscription, now or from before. */
export function refsOf({ ingress }: Pick<SubscriptionDocument, 'ingress'>): string[] {
  return ingress === null ? [] : [ingress.ref, ...ingress.previous.map(({ ref }) => ref)];
}

const idOf = ({ id }: { readonly id: string }): string => id;

function byKey<Row>(rows: readonly Row[], key: (row: Row) => string): Map<string, Row> {
  return new Map(rows.map((row) => [key(row), row]));
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
