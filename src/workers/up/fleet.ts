/** The fleet that `waybill up` publishes. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { checkDatabase, migrate } from '../../db/migrations';
import { WaybillError } from '../../domain/errors';
import type { Config } from '../../schemas/config';
import { readFleet, type Fleet } from '../../schemas/fleet';
import { fileText } from '../../schemas/fleet/file-texts';
import { loadShippedSchemes } from '../../schemas/shipped-schemes';
import { publishFleet, type PublishedFleet } from '../../services/publications';
import { secretMistakes } from '../../services/publications/secret-values';
import { openDatabase, requireAdminUrl } from '../databases';
import { processSecrets } from '../secrets';
import type { Launch } from './launch';

/** The fleet that comes with Waybill. */
export const EXAMPLE_FLEET = path.join(__dirname, '..', '..', '..', 'examples', 'fleet.yaml');

/** Where the example's targets are: the demo receiver on its default port. */
const RECEIVER_ORIGIN = 'http://127.0.0.1:7300';

/**
 * Reads a fleet file. Targets at the demo receiver's default address are those of the receiver that
 * was really started.
 * @throws WaybillError `fleet_unreadable`
 */
export async function readUpFleet(file: string, receiverUrl: string): Promise<Fleet> {
  const bytes = await readFile(file).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WaybillError('fleet_unreadable', reason, { cause: error });
  });
  const text = fileText(bytes);
  return readFleet(text.replaceAll(`${RECEIVER_ORIGIN}/`, `${receiverUrl}/`), loadShippedSchemes());
}

/**
 * Brings the schema up to date and publishes the fleet.
 * @throws those of `migrate` and `publishFleet`
 */
export async function publish(launch: Launch, config: Config, fleet: Fleet): Promise<void> {
  const schema = {
    title: 'Database schema',
    work: async (note: (line: string) => void) => {
      const applied = await migrate(requireAdminUrl(config));
      note(applied.length === 0 ? 'up to date' : `${applied.length} migrations applied`);
    },
  };
  const publication = {
    title: 'Fleet',
    work: async (note: (line: string) => void) => {
      const { changed, revision } = await publishQuietly(config, fleet);
      note(changed ? `published as revision ${revision}` : `revision ${revision}, unchanged`);
    },
  };
  await launch.together([schema]);
  await launch.together([publication]);
}

async function publishQuietly(config: Config, fleet: Fleet): Promise<PublishedFleet> {
  const control = openDatabase(config, 'waybill_control', pino({ level: 'silent' }));
  try {
    await checkDatabase(control, 'waybill_control');
    const mistakes = [...fleet.mistakes, ...(await secretMistakes(fleet, processSecrets(config)))];
    return await publishFleet(control, { ...fleet, mistakes }, 'waybill-up');
  } finally {
    await control.close();
  }
}

/** Tenants with a subscription or a binding, by name. */
export function tenantsOf({ subscriptions, bindings }: Fleet): string[] {
  return [...new Set([...subscriptions, ...bindings].map(({ thing }) => thing.tenant))].sort();
}
