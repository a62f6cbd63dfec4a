/** Publishing a fleet file, or showing what that would change. */
import { diffFleet, publishFleet } from '../../services/publications';
import { operatorName } from './environment';
import { changesTable } from './fleet-changes';
import { withFleet, type FleetFileOptions } from './fleet-files';
import { printJson, printLine } from './output';

export async function applyFleet(options: FleetFileOptions): Promise<void> {
  const published = await withFleet(options, (control, fleet) =>
    publishFleet(control, fleet, operatorName()),
  );
  if (options.json) {
    printJson(published);
    return;
  }
  const { revision, changed, changes } = published;
  if (changed) printLine(changesTable(changes));
  printLine(
    changed ? `\nrevision ${revision}` : `nothing to do: revision ${revision} has all of it`,
  );
}

/** @returns whether anything differs */
export async function showDifference(options: FleetFileOptions): Promise<boolean> {
  const { revision, changes } = await withFleet(options, diffFleet);
  const differs = changes.length > 0;
  if (options.json) {
    printJson({ revision, differs, changes });
    return differs;
  }
  if (differs) printLine(changesTable(changes));
  printLine(
    differs
      ? `\nnothing was published: revision ${revision} differs from the file`
      : `nothing differs: revision ${revision} has all of it`,
  );
  return differs;
}
