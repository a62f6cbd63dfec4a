/** Checks of a Capability document: it has one contract for ever. */
import type { CapabilityDocument } from '../../../schemas/fleet/action-documents';
import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { differences } from '../differences';
import { capabilityEntry } from '../rows';
import type { Checked } from './checked';

export function capabilityMistakes(
  { place, thing }: Placed<CapabilityDocument>,
  { published }: Checked,
): FleetMistake[] {
  const before = published.capabilities.get(thing.id);
  if (before === undefined) return [];
  const was = new Map<string, unknown>(Object.entries(before));
  return Object.entries(capabilityEntry(thing)).flatMap(([field, is]) => {
    if (differences({ [field]: was.get(field) }, { [field]: is }).length === 0) return [];
    const problem =
      `capability ${thing.id} was published with another one and keeps its contract for ever; ` +
      'publish this one under another id';
    const written = field === 'timeoutMs' ? 'timeout' : field;
    return [mistakeAt(place, [written], problem, 'capability_immutable')];
  });
}
