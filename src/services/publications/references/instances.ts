/** Checks of an Instance document, and of what a changed instance means for its subscriptions. */
import type { PublishedInstance, VersionRow } from '../../../schemas/catalog-rows';
import type { InstanceDocument } from '../../../schemas/fleet/documents';
import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { keyOf } from '../catalog-view';
import type { Checked } from './checked';

export function instanceMistakes(
  placed: Placed<InstanceDocument>,
  checked: Checked,
): FleetMistake[] {
  const before = checked.published.instances.get(keyOf(placed.thing));
  return [
    ...identityMistakes(placed, before),
    ...versionMistakes(placed, before, checked),
    ...grantMistakes(placed, before),
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

function versionMistakes(
  { place, thing }: Placed<InstanceDocument>,
  before: PublishedInstance | undefined,
  { intended, isBroken }: Checked,
): FleetMistake[] {
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
  const moved = before?.version !== version;
  return moved ? movedMistakes({ place, thing }, before, row) : [];
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

function grantMistakes(
  { place, thing }: Placed<InstanceDocument>,
  before: PublishedInstance | undefined,
): FleetMistake[] {
  if (before?.subscribed !== true || thing.grants.includes('source')) return [];
  const problem = 'must keep source while the instance has subscriptions; deactivate them first';
  return [mistakeAt(place, ['grants'], problem)];
}
