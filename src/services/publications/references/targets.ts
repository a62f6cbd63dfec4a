/** Checks of a Target document: its kind stays, and its capability is there. */
import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import type { TargetDocument } from '../../../schemas/fleet/target-documents';
import { keyOf } from '../catalog-view';
import type { Checked } from './checked';

export function targetMistakes(
  { place, thing }: Placed<TargetDocument>,
  { published, intended, isBroken }: Checked,
): FleetMistake[] {
  const found: FleetMistake[] = [];
  const kind = thing.action === null ? 'http' : 'action';
  const before = published.targets.get(keyOf(thing));
  if (before !== undefined && before[kind] === null) {
    const problem = `this target is ${kind === 'http' ? 'an action' : 'http'} for good; use another id`;
    found.push(mistakeAt(place, [kind], problem));
  }
  const id = thing.action?.capabilityId;
  if (id !== undefined && !intended.hasCapability(id) && !isBroken('Capability', { id })) {
    const problem = `there is no capability ${id}, neither in this file nor in the catalog`;
    found.push(mistakeAt(place, ['action', 'capability'], problem));
  }
  return found;
}
