/** Postgres and Temporal for `waybill up`: those that the environment names, or embedded ones. */
import path from 'node:path';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes';
import { startPostgres, type PostgresServer } from '../embedded/postgres-server';
import { findTemporalCli } from '../embedded/temporal-binary';
import { startTemporal, type TemporalServer } from '../embedded/temporal-server';
import type { ServerAddresses } from './environment';
import { requireTemporal } from './given-temporal';
import type { Launch } from './launch';
import { PORT_SETTINGS, type UpSettings } from './settings';
import type { Step } from './steps';

type Note = (line: string) => void;

export interface StartedServers {
  readonly addresses: ServerAddresses;
  /** Null when the environment names a running one. */
  readonly temporal: TemporalServer | null;
}

/** Both at once; resolves when they serve. */
export async function startServers(launch: Launch): Promise<StartedServers> {
  const { settings, environment, servers } = launch;
  let databaseUrl = settings.databaseUrl ?? '';
  let temporal: TemporalServer | null = null;
  const steps: Step[] = [];
  if (settings.databaseUrl === null) {
    const work: Step['work'] = async (note) => {
      const postgres = await embeddedPostgres(settings, note);
      servers.add('postgres', postgres);
      databaseUrl = postgres.url;
    };
    steps.push({ title: 'Postgres', work });
  }
  const work: Step['work'] = async (note) => {
    if (settings.temporalAddress !== null) {
      note(`uses ${await requireTemporal(environment)}`);
      return;
    }
    temporal = await embeddedTemporal(settings, environment, note);
    servers.add('temporal', temporal);
  };
  await launch.together([...steps, { title: 'Temporal server', work }]);
  return { addresses: { databaseUrl, ...whereTemporalIs(launch, temporal) }, temporal };
}

function whereTemporalIs(
  { settings, environment }: Launch,
  embedded: TemporalServer | null,
): Pick<ServerAddresses, 'temporal' | 'temporalUi'> {
  if (embedded !== null) return { temporal: embedded.address, temporalUi: embedded.uiUrl };
  const ui = environment['WAYBILL_TEMPORAL_UI'];
  return {
    temporal: settings.temporalAddress ?? '',
    temporalUi: ui === undefined || ui === '' ? null : ui,
  };
}

function embeddedPostgres(settings: UpSettings, note: Note): Promise<PostgresServer> {
  return startPostgres({
    stateFolder: settings.home,
    port: settings.ports.postgres,
    portSetting: PORT_SETTINGS.postgres.variable,
    log: note,
  });
}

/** Finds or fetches the Temporal CLI, then starts its server, which keeps its data in a file. */
async function embeddedTemporal(
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
