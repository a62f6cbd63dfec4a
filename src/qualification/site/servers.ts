/** The Postgres and Temporal servers of a run: always its own, never one that is there. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { SEARCH_ATTRIBUTES } from '../../domain/search-attributes';
import { startPostgres } from '../../workers/embedded/postgres-server';
import { stateFolder } from '../../workers/embedded/state-folder';
import { findTemporalCli } from '../../workers/embedded/temporal-binary';
import { startTemporal } from '../../workers/embedded/temporal-server';
import type { SecretValues } from '../evidence/secret-values';
import type { HeldPorts } from './ports';
import { SiteProcess, type NoteEvent } from './site-process';
import type { Workspace } from './workspace';

export interface Servers {
  /** Of the superuser, for the database `postgres`. */
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  readonly processes: readonly SiteProcess[];
}

export interface ServersOptions {
  readonly workspace: Workspace;
  readonly held: HeldPorts;
  readonly secrets: SecretValues;
  readonly note: NoteEvent;
  readonly tell: (line: string) => void;
}

/** Starts both; resolves when they serve. Their data is durable: that of Temporal is in a file. */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const { workspace, held, secrets, note, tell } = options;
  const { ports } = held;
  const folder = serversFolder(workspace);
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  tell('Postgres');
  await held.release('postgres');
  const postgres = await startPostgres({
    ...{ stateFolder: folder, port: ports.postgres, maxConnections: 150 },
  });
  secrets.note(new URL(postgres.url).password);
  try {
    tell('Temporal');
    const cli = await findTemporalCli({
      stateFolder: stateFolder(process.env, process.cwd()),
      env: process.env,
      progress: tell,
    });
    await held.release('temporal', 'temporal-ui');
    const temporal = await startTemporal({
      executable: cli.path,
      ...{ stateFolder: folder, port: ports.temporal, uiPort: ports['temporal-ui'] },
      databaseFile: path.join(folder, 'temporal.db'),
      searchAttributes: SEARCH_ATTRIBUTES,
    });
    return {
      databaseUrl: postgres.url,
      temporalAddress: temporal.address,
      processes: [
        new SiteProcess('postgres', postgres, note),
        new SiteProcess('temporal', temporal, note),
      ],
    };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

export function serversFolder({ path: root }: Workspace): string {
  return path.join(root, 'servers');
}
