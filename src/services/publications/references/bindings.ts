/** Checks of Binding documents: capability, account, credential, quota, revision, and who shares. */
import type { BindingRow, InstanceRow, VersionRow } from '../../../schemas/catalog-rows';
import type { BindingDocument } from '../../../schemas/fleet/action-documents';
import type { FieldPath, FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { bindingKey, keyOf } from '../catalog-view';
import { differences } from '../differences';
import { bindingRow } from '../rows';
import type { Checked } from './checked';
import { missingInstance } from './missing-instance';
import { sharingMistakes } from './sharing';

type PlacedBinding = Placed<BindingDocument>;

export function bindingMistakes(
  bindings: readonly PlacedBinding[],
  checked: Checked,
): FleetMistake[] {
  return [
    ...bindings.flatMap((placed) => [
      ...namedMistakes(placed, checked),
      ...instanceMistakes(placed, checked),
      ...revisionMistakes(placed, checked),
    ]),
    ...sharingMistakes(bindings, checked),
  ];
}

function namedMistakes(
  { place, thing }: PlacedBinding,
  { intended, isBroken }: Checked,
): FleetMistake[] {
  const { capability, quotaPolicy } = thing;
  const found: FleetMistake[] = [];
  const missing = (field: string, what: string) => {
    const problem = `there is no ${what}, neither in this file nor in the catalog`;
    found.push(mistakeAt(place, [field], problem));
  };
  if (!intended.hasCapability(capability) && !isBroken('Capability', { id: capability })) {
    missing('capability', `capability ${capability}`);
  }
  if (
    quotaPolicy !== null &&
    !intended.hasQuotaPolicy(quotaPolicy) &&
    !isBroken('QuotaPolicy', { id: quotaPolicy })
  ) {
    missing('quotaPolicy', `quota policy ${quotaPolicy}`);
  }
  return found;
}

function instanceMistakes({ place, thing }: PlacedBinding, checked: Checked): FleetMistake[] {
  const key = { tenant: thing.tenant, id: thing.instance };
  if (checked.isBroken('Instance', key)) return [];
  const instance = checked.intended.instance(key);
  if (instance === undefined) return [missingInstance({ place, thing })];
  const before = checked.published.bindings.get(bindingKey(thing));
  return [
    ...credentialMistakes({ place, thing }, instance, before),
    ...(thing.enabled ? usableMistakes({ place, thing }, { instance, before }, checked) : []),
  ];
}

/** The revision must be there; what begins to use it needs an active one. */
function credentialMistakes(
  { place, thing }: PlacedBinding,
  instance: InstanceRow,
  before: BindingRow | undefined,
): FleetMistake[] {
  const revision = thing.credentialRevision;
  const status = new Map(Object.entries(instance.credentials)).get(revision);
  const wrong = (problem: string) => [mistakeAt(place, ['credentialRevision'], problem)];
  if (status === undefined) {
    return wrong(`instance ${instance.id} has no credential of that revision; add it there`);
  }
  const begins = beginsToServe(thing, before) || before?.credentialRevision !== revision;
  return thing.enabled && begins && status === 'revoked'
    ? wrong('this revision is revoked; name an active one')
    : [];
}

/** What an enabled binding needs; one that serves may stay on a deprecated version. */
function usableMistakes(
  { place, thing }: PlacedBinding,
  { instance, before }: { readonly instance: InstanceRow; readonly before: BindingRow | undefined },
  { published, intended, isBroken }: Checked,
): FleetMistake[] {
  const found: FleetMistake[] = [];
  const wrong = (problem: string, path: FieldPath = ['instance']) => {
    found.push(mistakeAt(place, path, problem));
  };
  if (!instance.grants.includes('tool')) {
    wrong('this instance does not grant tool; add it to its grants');
  }
  const begins = beginsToServe(thing, before);
  if (begins && published.instances.get(keyOf(instance))?.certifying === true) {
    wrong('a version is being certified on this instance; wait for that, or cancel it');
  }
  if (begins && instance.status !== 'enabled') {
    wrong(`this instance is ${instance.status}; ${remedyOf(instance)}`);
  }
  const { connector, version } = instance;
  if (isBroken('Connector', { id: connector, version })) return found;
  const row: VersionRow | undefined = intended.version(instance);
  if (row !== undefined && !row.capabilities.includes(thing.capability)) {
    wrong(`its connector ${connector} ${version} does not offer ${thing.capability}`, [
      'capability',
    ]);
  }
  if (begins && row !== undefined && row.status !== 'active') {
    wrong(
      `its connector ${connector} ${version} is ${row.status}; only an active version takes new bindings`,
    );
  }
  return found;
}

function remedyOf({ status }: InstanceRow): string {
  return status === 'revoked' ? 'choose another one' : 'enable it';
}

function beginsToServe(thing: BindingDocument, before: BindingRow | undefined): boolean {
  return thing.enabled && before?.enabled !== true;
}

/** Who changes a binding says so by a higher revision: an older file never undoes a newer one. */
function revisionMistakes({ place, thing }: PlacedBinding, { published }: Checked): FleetMistake[] {
  const before = published.bindings.get(bindingKey(thing));
  if (before === undefined || thing.policyRevision > before.policyRevision) return [];
  const changed = differences(before, bindingRow(thing)).map(({ field }) => field);
  if (changed.length === 0) return [];
  const problem =
    `is published as revision ${before.policyRevision} with another ${changed.join(', ')}; ` +
    'a change needs a higher one';
  return [mistakeAt(place, ['policyRevision'], problem, 'revision_not_newer')];
}
