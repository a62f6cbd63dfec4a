/** Checks of Subscription documents: instance, target, ingress. */
import type { InstanceRow, SubscriptionRow, VersionRow } from '../../../schemas/catalog-rows';
import type { SubscriptionDocument } from '../../../schemas/fleet/documents';
import type { FieldPath, FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { keyOf, refsOf, things } from '../catalog-view';
import type { Checked } from './checked';
import { missingInstance } from './missing-instance';

type PlacedSubscription = Placed<SubscriptionDocument>;

export function subscriptionMistakes(
  subscriptions: readonly PlacedSubscription[],
  checked: Checked,
): FleetMistake[] {
  const inFile = new Map(things(subscriptions).map((thing) => [keyOf(thing), thing]));
  return subscriptions.flatMap((placed) => [
    ...instanceMistakes(placed, checked),
    ...targetMistakes(placed, checked),
    ...ingressMistakes(placed, checked),
    ...ingressOwnerMistakes(placed, checked, inFile),
  ]);
}

function instanceMistakes({ place, thing }: PlacedSubscription, checked: Checked): FleetMistake[] {
  const key = { tenant: thing.tenant, id: thing.instance };
  if (checked.isBroken('Instance', key)) return [];
  const instance = checked.intended.instance(key);
  const wrong = (problem: string, path: FieldPath = ['instance']) => [
    mistakeAt(place, path, problem),
  ];
  if (instance === undefined) return [missingInstance({ place, thing })];
  const before = checked.published.subscriptions.get(keyOf(thing));
  const state = thing.state ?? before?.state ?? 'active';
  // A deactivated one that is there already may stay when the instance no longer grants anything.
  if (instance.grants.length === 0 && (before === undefined || state !== 'deactivated')) {
    return wrong('this instance grants neither source nor tool; add one of them to its grants');
  }
  if (instance.status === 'revoked' && state !== 'deactivated') {
    const stays = thing.state === null && before !== undefined;
    return stays ? [] : wrong('must be deactivated: its instance is revoked', ['state']);
  }
  return beginsToUse(thing, before) ? usableMistakes({ place, thing }, instance, checked) : [];
}

/** What a new, moved or reactivated subscription needs; one that runs may stay on deprecated. */
function usableMistakes(
  { place }: PlacedSubscription,
  instance: InstanceRow,
  { intended, isBroken }: Checked,
): FleetMistake[] {
  const found: FleetMistake[] = [];
  if (instance.status !== 'enabled') {
    found.push(mistakeAt(place, ['instance'], `this instance is ${instance.status}; enable it`));
  }
  const { connector, version } = instance;
  const row = intended.version(instance);
  if (
    row !== undefined &&
    !isBroken('Connector', { id: connector, version }) &&
    row.status !== 'active'
  ) {
    const problem = `its connector ${connector} ${version} is ${row.status}; only an active version takes new subscriptions`;
    found.push(mistakeAt(place, ['instance'], problem));
  }
  return found;
}

function beginsToUse(thing: SubscriptionDocument, before: SubscriptionRow | undefined): boolean {
  const state = thing.state ?? before?.state ?? 'active';
  if (state === 'deactivated') return false;
  return (
    before === undefined || before.instance !== thing.instance || before.state === 'deactivated'
  );
}

function targetMistakes({ place, thing }: PlacedSubscription, checked: Checked): FleetMistake[] {
  const key = { tenant: thing.tenant, id: thing.target };
  if (checked.isBroken('Target', key) || checked.intended.hasTarget(key)) return [];
  const problem = `tenant ${thing.tenant} has no target of that id, neither in this file nor in the catalog`;
  return [mistakeAt(place, ['target'], problem)];
}

function ingressMistakes({ place, thing }: PlacedSubscription, checked: Checked): FleetMistake[] {
  const before = checked.published.subscriptions.get(keyOf(thing));
  if (thing.ingress === null) {
    if ((before?.ingress ?? null) === null) return [];
    const problem =
      'is published and cannot be taken away by leaving it out; set state: deactivated to close it';
    return [mistakeAt(place, ['ingress'], problem)];
  }
  const version = versionOf(thing, checked);
  if (version === undefined || version.webhookScheme !== null) return [];
  const problem = `its connector ${version.connector} ${version.version} has no webhookScheme and receives nothing`;
  return [mistakeAt(place, ['ingress'], problem)];
}

/** The version that a subscription is on, unless there is none or it is broken itself. */
function versionOf(
  thing: SubscriptionDocument,
  { intended, isBroken }: Checked,
): VersionRow | undefined {
  const key = { tenant: thing.tenant, id: thing.instance };
  const instance = isBroken('Instance', key) ? undefined : intended.instance(key);
  if (instance === undefined) return undefined;
  const { connector, version } = instance;
  return isBroken('Connector', { id: connector, version }) ? undefined : intended.version(instance);
}

/** A reference of somebody else is taken, unless this very file gives it up there. */
function ingressOwnerMistakes(
  { place, thing }: PlacedSubscription,
  { published }: Checked,
  inFile: ReadonlyMap<string, SubscriptionDocument>,
): FleetMistake[] {
  return refsOf(thing).flatMap((ref, index) => {
    const owner = published.ingressOwners.get(ref);
    if (owner === undefined || keyOf(owner) === keyOf(thing)) return [];
    const later = inFile.get(keyOf(owner));
    if (later !== undefined && later.ingress !== null && !refsOf(later).includes(ref)) return [];
    const problem = `is taken by subscription ${owner.id} of tenant ${owner.tenant}; choose another one`;
    const path = index === 0 ? ['ref'] : ['previous', index - 1, 'ref'];
    return [mistakeAt(place, ['ingress', ...path], problem)];
  });
}
