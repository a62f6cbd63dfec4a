/** Publishing a fleet file and telling what came of it. */
import { readFile } from 'node:fs/promises';
import { checkDatabase } from '../../db/migrations';
import { WaybillError } from '../../domain/errors';
import { readFleet } from '../../schemas/fleet';
import { FleetInvalid } from '../../schemas/fleet/mistakes';
import { loadShippedSchemes } from '../../schemas/shipped-schemes';
import { publishFleet, type PublishedFleet } from '../../services/publications';
import { databaseSetting, openDatabase } from '../../workers/databases';
import { operatorName, quietLog, surroundings } from './environment';
import { changesTable } from './fleet-changes';
import { printJson, printLine } from './output';
import { namingDatabase } from './storage';

export interface ApplyOptions {
  readonly file: string;
  readonly json?: true;
}

export async function applyFleet({ file, json }: ApplyOptions): Promise<void> {
  const fleet = readFleet(await fleetText(file), loadShippedSchemes());
  const { config } = surroundings();
  const control = openDatabase(config, 'waybill_control', quietLog());
  try {
    const setting = databaseSetting(config, 'waybill_control');
    const published = await namingDatabase(setting, async () => {
      await checkDatabase(control, 'waybill_control');
      return await publishFleet(control, fleet, operatorName());
    });
    tell(published, json === true);
  } catch (error) {
    if (error instanceof FleetInvalid) throw toldMistakes(error, json === true);
    throw error;
  } finally {
    await control.close();
  }
}

async function fleetText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WaybillError('fleet_unreadable', reason, { cause: error });
  }
}

function tell(published: PublishedFleet, json: boolean): void {
  if (json) {
    printJson(published);
    return;
  }
  const { revision, changed, changes } = published;
  if (changed) printLine(changesTable(changes));
  printLine(
    changed ? `\nrevision ${revision}` : `nothing to do: revision ${revision} has all of it`,
  );
}

/** The mistakes are the answer; the failure that remains is one line. */
function toldMistakes(error: FleetInvalid, json: boolean): WaybillError {
  const { mistakes } = error;
  if (json) printJson({ mistakes });
  else {
    for (const { line, document, field, problem } of mistakes) {
      printLine(`line ${line}, ${document}: ${field === '' ? '' : `${field}: `}${problem}`);
    }
  }
  const count = mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`;
  const first = mistakes[0];
  const where = first === undefined ? '' : `, first in ${first.document} at line ${first.line}`;
  return new WaybillError(error.code, `${count} in the fleet file${where}; nothing was applied`);
}
