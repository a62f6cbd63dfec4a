import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';

/** A document that names an instance which its tenant does not have. */
export function missingInstance({
  place,
  thing,
}: Placed<{ readonly tenant: string }>): FleetMistake {
  const problem = `tenant ${thing.tenant} has no instance of that id, neither in this file nor in the catalog`;
  return mistakeAt(place, ['instance'], problem);
}
