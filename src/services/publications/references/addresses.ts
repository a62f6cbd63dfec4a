/** Checks of a URL that Waybill would call: what it says itself must not speak against it. */
import type { FieldPath, FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { urlProblem } from '../../../targets/addresses';
import type { Checked } from './checked';

/** A name is judged when it is looked up, at each connection. */
export function addressMistakes(
  { place }: Pick<Placed<unknown>, 'place'>,
  path: FieldPath,
  url: string,
  { intended }: Checked,
): FleetMistake[] {
  const problem = urlProblem(url, intended.settings.targetAddresses);
  if (problem === null) return [];
  const remedy = 'a platform admin can allow it in targetAddresses of Settings';
  return [mistakeAt(place, path, `must not be called: ${problem}; ${remedy}`)];
}
