/**
 * Checks of an Instance document, and of what a changed instance means for its subscriptions and
 * bindings.
 */
import type {
  BindingRow,
  InstanceRow,
  PublishedInstance,
  VersionRow,
} from '../../../schemas/catalog-rows';
import { MAX_CREDENTIALS } from '../../../schemas/fleet/credentials';
import type { InstanceDocument } from '../../../schemas/fleet/documents';
import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { bindingKey, keyOf } from '../catalog-view';
import { differences } from '../differences';
import { instanceRow } from '../rows';
import type { Checked } from './checked';
import { configMistakes } from './instance-configs';

export function instanceMistakes(
  placed: Placed<InstanceDocument>,
  checked: Checked,
): FleetMistake[] {
  const before = checked.published.instances.get(keyOf(placed.thing));
  return [
    ...identityMistakes(placed, before),
    ...revisionMistakes(placed, before, checked),
    ...versionMistakes(placed, before, checked),
    ...grantMistakes(placed, before, checked),
    ...credentialMistakes(placed, checked),
  ];
}

function identityMistakes(
  { place, thing }: Placed<InstanceDocument>,
  before: PublishedInstance | undefined,
): FleetMistake[] {
  if (before === undefined) return [];
  const found: FleetMistake[] = [];
  if (before.connector !== thing.connector) {
    const problem = `this instance belongs to connector ${before.connector} for good; use another id`;
    found.push(mistakeAt(place, ['connector'], problem));
  }
  if (before.status === 'revoked' && thing.status !== null && thing.status !== 'revoked') {
    const problem = 'this instance is revoked for good; make a new one under another id';
    found.push(mistakeAt(place, ['status'], problem));
  }
  return found;
}

/** Who changes an instance says so by a higher revision; its credentials have states of their own. */
function revisionMistakes(
  { place, thing }: Placed<InstanceDocument>,
  before: PublishedInstance | undefined,
  { published, isReported }: Checked,
): FleetMistake[] {
  if (isReported || before === undefined || thing.configRevision > before.configRevision) return [];
  const changed = differences(revised(before), revised(instanceRow(thing, published)));
  if (changed.length === 0) return [];
  const problem =
    `is published as revision ${before.configRevision} with another ` +
    `${changed.map(({ field }) => field).join(', ')}; a change needs a higher one`;
  return [mistakeAt(place, ['configRevision'], problem, 'revision_not_newer')];
}

function credentialMistakes(
  { place, thing }: Placed<InstanceDocument>,
  { published }: Checked,
): FleetMistake[] {
  const count = Object.keys(instanceRow(thing, published).credentials).length;
  if (count <= MAX_CREDENTIALS) return [];
  const problem = `an instance has at most ${MAX_CREDENTIALS} of them, with those it had before`;
  return [mistakeAt(place, ['credentials'], problem)];
}

/** What only a newer revision changes. */
function revised(row: InstanceRow): object {
  const { version, status, grants, config, secretRef, signingSecretRefs, configRevision } = row;
  return { version, status, grants, config, secretRef, signingSecretRefs, configRevision };
}

function versionMistakes(
  { place, thing }: Placed<InstanceDocument>,
  before: PublishedInstance | undefined,
  checked: Checked,
): FleetMistake[] {
  const { intended, isBroken } = checked;
  const { connector, version } = thing;
  if (isBroken('Connector', { id: connector, version })) return [];
  const row = intended.version({ connector, version });
  if (row === undefined) {
    const problem = `there is no connector ${connector} of version ${version}, neither in this file nor in the catalog`;
    return [mistakeAt(place, ['version'], problem)];
  }
  const owner = intended.connector(connector)?.tenant ?? null;
  if (owner !== null && owner !== thing.tenant) {
    const problem = `connector ${connector} belongs to tenant ${owner} alone`;
    return [mistakeAt(place, ['connector'], problem)];
  }
  const misfits = configMistakes({ place, thing }, row);
  if (before?.version === version) return misfits;
  return [
    ...misfits,
    ...movedMistakes({ place, thing }, before, row),
    ...boundMistakes({ place, thing }, row, checked),
  ];
}

/** A new instance, or one that changes its version: what it moves to must be usable. */
function movedMistakes(
  { place }: Placed<InstanceDocument>,
  before: PublishedInstance | undefined,
  to: VersionRow,
): FleetMistake[] {
  if (to.status === 'revoked') {
    return [mistakeAt(place, ['version'], 'this version is revoked; choose another one')];
  }
  if (before?.subscribed === true && to.status !== 'active') {
    const problem = `this version is ${to.status}, and the instance has subscriptions: they need an active one`;
    return [mistakeAt(place, ['version'], problem)];
  }
  if (before?.receives === true && to.webhookScheme === null) {
    const problem = 'this version has no webhookScheme, and the instance has ingresses';
    return [mistakeAt(place, ['version'], problem)];
  }
  return [];
}

/** What serves goes on serving: the new version must be usable and offer what is bound. */
function boundMistakes(
  { place, thing }: Placed<InstanceDocument>,
  to: VersionRow,
  checked: Checked,
): FleetMistake[] {
  const bound = servingBindings(thing, checked);
  if (bound.length > 0 && to.status !== 'active' && to.status !== 'revoked') {
    const problem = `this version is ${to.status}, and the instance has bindings: they need an active one`;
    return [mistakeAt(place, ['version'], problem)];
  }
  // A binding of this very file has the mistake itself.
  const lost = bound
    .filter((row) => !checked.isWritten(row) && !to.capabilities.includes(row.capability))
    .map(({ capability }) => capability);
  if (lost.length === 0) return [];
  const problem = `this version does not offer ${lost.join(', ')}, which the instance is bound to; disable the binding first`;
  return [mistakeAt(place, ['version'], problem)];
}

/** Bindings that are published, and enabled before and after. */
function servingBindings(thing: InstanceDocument, { intended, published }: Checked): BindingRow[] {
  return intended
    .bindingsOf(thing)
    .filter((row) => row.enabled && published.bindings.get(bindingKey(row))?.enabled === true);
}

function grantMistakes(
  { place, thing }: Placed<InstanceDocument>,
  before: PublishedInstance | undefined,
  checked: Checked,
): FleetMistake[] {
  const found: FleetMistake[] = [];
  if (before?.subscribed === true && thing.grants.length === 0) {
    const problem =
      'must keep source or tool while the instance has subscriptions; deactivate them first';
    found.push(mistakeAt(place, ['grants'], problem));
  }
  const bound = servingBindings(thing, checked).filter((row) => !checked.isWritten(row));
  if (bound.length > 0 && !thing.grants.includes('tool')) {
    const problem = 'must keep tool while the instance has bindings; disable them first';
    found.push(mistakeAt(place, ['grants'], problem));
  }
  return found;
}
