/** A fleet file beside the catalog: reading it, and telling what is wrong with it. */
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Database } from '../../db/database';
import { checkDatabase } from '../../db/migrations';
import { WaybillError } from '../../domain/errors';
import type { Fleet } from '../../schemas/fleet';
import { FleetInvalid } from '../../schemas/fleet/mistakes';
import { loadShippedSchemes } from '../../schemas/shipped-schemes';
import { checkedFleet } from '../../services/publications/checked-fleets';
import { databaseSetting, openDatabase } from '../../workers/databases';
import { processSecrets } from '../../workers/secrets';
import { quietLog, surroundings } from './environment';
import { printJson, printLine } from './output';
import { namingDatabase } from './storage';

export interface FleetFileOptions {
  readonly file: string;
  readonly json?: true;
}

/**
 * Runs the work with the file's fleet and the pool that may publish.
 * @throws WaybillError `fleet_unreadable`, and the codes of a fleet's mistakes, which are printed
 */
export async function withFleet<Result>(
  { file, json }: FleetFileOptions,
  work: (control: Database, fleet: Fleet) => Promise<Result>,
): Promise<Result> {
  const fleet = await checkedFleet(await fleetBytes(file), {
    schemes: loadShippedSchemes(),
    secrets: processSecrets(surroundings().config),
  });
  try {
    return await withControl((control) => work(control, fleet));
  } catch (error) {
    if (error instanceof FleetInvalid) throw toldMistakes(error, json === true);
    throw error;
  }
}

/** Runs the work with the pool that may publish, on a schema that this build supports. */
export async function withControl<Result>(
  work: (control: Database) => Promise<Result>,
): Promise<Result> {
  const { config } = surroundings();
  const control = openDatabase(config, 'waybill_control', quietLog());
  try {
    return await namingDatabase(databaseSetting(config, 'waybill_control'), async () => {
      await checkDatabase(control, 'waybill_control');
      return await work(control);
    });
  } finally {
    await control.close();
  }
}

async function fleetBytes(file: string): Promise<Uint8Array> {
  return await (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WaybillError('fleet_unreadable', reason, { cause: error });
  });
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
