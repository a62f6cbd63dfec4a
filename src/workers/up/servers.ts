/** Postgres and Temporal for `waybill up`, embedded in the home folder. */
import path from 'node:path';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes';
import { startPostgres, type PostgresServer } from '../embedded/postgres-server';
import { findTemporalCli } from '../embedded/temporal-binary';
import { startTemporal, type TemporalServer } from '../embedded/temporal-server';
import { PORT_SETTINGS, type UpSettings } from './settings';

type Note = (line: string) => void;

export function upPostgres(settings: UpSettings, note: Note): Promise<PostgresServer> {
  return startPostgres({
    stateFolder: settings.home,
    port: settings.ports.postgres,
    portSetting: PORT_SETTINGS.postgres.variable,
    log: note,
  });
}

/** Finds or fetches the Temporal CLI, then starts its server, which keeps its data in a file. */
export async function upTemporal(
  settings: UpSettings,
  environment: NodeJS.ProcessEnv,
  note: Note,
): Promise<TemporalServer> {
  const { home, ports } = settings;
  const cli = await findTemporalCli({ stateFolder: home, env: environment, progress: note });
  note(`Temporal CLI ${cli.version} (${cli.source})`);
  return await startTemporal({
    executable: cli.path,
    stateFolder: home,
    port: ports.temporal,
    uiPort: ports.temporalUi,
    portSettings: {
      port: PORT_SETTINGS.temporal.variable,
      uiPort: PORT_SETTINGS.temporalUi.variable,
    },
    databaseFile: path.join(home, 'temporal.db'),
    searchAttributes: SEARCH_ATTRIBUTES,
    log: note,
  });
}
