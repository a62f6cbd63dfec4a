/** `waybill apply`: publishes a fleet file as one revision of the catalog. */
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { checkDatabase } from '../db/migrations';
import { WaybillError } from '../domain/errors';
import { readFleet } from '../schemas/fleet';
import { FleetInvalid } from '../schemas/fleet/mistakes';
import { loadShippedSchemes } from '../schemas/shipped-schemes';
import { publishFleet, type PublishedFleet } from '../services/publications';
import { openDatabase } from '../workers/databases';
import { operatorName, quietLog, surroundings } from './support/environment';
import { changesTable } from './support/fleet-changes';
import { printJson, printLine } from './support/output';
import { namingDatabase } from './support/storage';

interface ApplyOptions {
  readonly file: string;
  readonly json?: true;
}

export function addApply(program: Command): void {
  program
    .command('apply')
    .description('Publish a fleet file: what differs becomes one revision, or nothing is applied.')
    .requiredOption('-f, --file <file>', 'the fleet file (YAML)')
    .option('--json', 'answer as JSON')
    .addHelpText(
      'after',
      '\nWrites through WAYBILL_CONTROL_DATABASE_URL or DATABASE_URL; beside a running `waybill up`\n' +
        'neither is needed.\n' +
        '\nExample:\n  $ waybill apply -f examples/fleet.yaml\n',
    )
    .action(apply);
}

async function apply({ file, json }: ApplyOptions): Promise<void> {
  const fleet = readFleet(await fleetText(file), loadShippedSchemes());
  const { config } = surroundings();
  const control = openDatabase(config, 'waybill_control', quietLog());
  try {
    const { controlUrl, adminUrl } = config.database;
    const published = await namingDatabase(controlUrl ?? adminUrl, async () => {
      await checkDatabase(control);
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
