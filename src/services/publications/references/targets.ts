/** Checks of a Target document: its kind stays, its address may be called, its capability is there. */
import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { TARGET_KINDS, type TargetDocument } from '../../../schemas/fleet/target-documents';
import { keyOf } from '../catalog-view';
import { addressMistakes } from './addresses';
import type { Checked } from './checked';

export function targetMistakes(
  { place, thing }: Placed<TargetDocument>,
  checked: Checked,
): FleetMistake[] {
  const { published, intended, isBroken } = checked;
  const found: FleetMistake[] = [];
  const kind = TARGET_KINDS.find((one) => thing[one] !== null) ?? 'http';
  const before = published.targets.get(keyOf(thing));
  if (before !== undefined && before[kind] === null) {
    const was = TARGET_KINDS.find((one) => before[one] !== null) ?? 'http';
    const problem = `this target is of the kind ${was} for good; use another id`;
    found.push(mistakeAt(place, [kind], problem));
  }
  if (thing.http !== null) {
    found.push(...addressMistakes({ place }, ['http', 'url'], thing.http.url, checked));
  }
  if (thing.workflow !== null) found.push(...workflowMistakes({ place, thing }, checked));
  const id = thing.action?.capabilityId;
  if (id !== undefined && !intended.hasCapability(id) && !isBroken('Capability', { id })) {
    const problem = `there is no capability ${id}, neither in this file nor in the catalog`;
    found.push(mistakeAt(place, ['action', 'capability'], problem));
  }
  return found;
}

function workflowMistakes(
  { place, thing }: Placed<TargetDocument>,
  { intended }: Checked,
): FleetMistake[] {
  const allowed = intended.settings.workflowTargets.some(
    ({ taskQueue, workflowType, tenants }) =>
      taskQueue === thing.workflow?.taskQueue &&
      workflowType === thing.workflow.workflowType &&
      (tenants === null || tenants.includes(thing.tenant)),
  );
  if (allowed) return [];
  const problem =
    'may not be started here; a platform admin can allow it in workflowTargets of Settings';
  return [mistakeAt(place, ['workflow', 'type'], problem)];
}
