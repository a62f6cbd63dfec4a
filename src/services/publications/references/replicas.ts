/** Checks of a Replica document: its place in the fleet, and that it stays what it was published as. */
import type { InstanceRow, ReplicaRow } from '../../../schemas/catalog-rows';
import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import type { ReplicaDocument } from '../../../schemas/fleet/replica-documents';
import { differences } from '../differences';
import { replicaRow } from '../rows';
import type { Checked } from './checked';
import { missingInstance } from './missing-instance';

type PlacedReplica = Placed<ReplicaDocument>;

export function replicaMistakes(placed: PlacedReplica, checked: Checked): FleetMistake[] {
  const { place, thing } = placed;
  const before = checked.published.replicas.get(thing.id);
  if (before !== undefined && before.tenant !== thing.tenant) {
    return [
      mistakeAt(place, ['id'], `is taken by a replica of another tenant; choose another one`),
    ];
  }
  const key = { tenant: thing.tenant, id: thing.instance };
  if (checked.isBroken('Instance', key)) return [];
  const instance = checked.intended.instance(key);
  if (instance === undefined) return [missingInstance({ place, thing })];
  return before === undefined
    ? newMistakes(placed, instance, checked)
    : fixedMistakes(placed, before, instance);
}

function newMistakes(
  { place, thing }: PlacedReplica,
  instance: InstanceRow,
  { intended, isBroken }: Checked,
): FleetMistake[] {
  if (instance.status === 'revoked') {
    return [mistakeAt(place, ['instance'], 'this instance is revoked; choose another one')];
  }
  const { connector, version } = replicaRow(thing, undefined, instance);
  if (isBroken('Connector', { id: connector, version })) return [];
  const row = intended.version({ connector, version });
  // Without a version of its own it has the instance's, whose absence is the instance's mistake.
  if (row === undefined && thing.version !== null) {
    const problem = `there is no connector ${connector} of version ${version}, neither in this file nor in the catalog`;
    return [mistakeAt(place, ['version'], problem)];
  }
  return row?.status === 'revoked'
    ? [mistakeAt(place, ['version'], `version ${version} is revoked; choose another one`)]
    : [];
}

/** Routes hold where they went: a replica never becomes another one under its id. */
function fixedMistakes(
  { place, thing }: PlacedReplica,
  before: ReplicaRow,
  instance: InstanceRow,
): FleetMistake[] {
  const changed = differences(before, replicaRow(thing, before, instance));
  return (
    changed
      .map(({ field }) => field)
      // The connector is the instance's: another one shows as another instance.
      .filter((field) => field !== 'capacity' && field !== 'connector')
      .map((field) => {
        const problem = 'was published otherwise and stays so; provision another replica';
        return mistakeAt(place, field.split('.'), problem, 'replica_immutable');
      })
  );
}
