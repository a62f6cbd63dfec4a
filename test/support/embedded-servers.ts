/** Embedded servers for tests, on free ports. */
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SEARCH_ATTRIBUTES } from '../../src/domain/search-attributes';
import { freePort } from '../../src/workers/embedded/ports';
import {
  startPostgres,
  type PostgresOptions,
  type PostgresServer,
} from '../../src/workers/embedded/postgres-server';
import { stateFolder } from '../../src/workers/embedded/state-folder';
import { findTemporalCli } from '../../src/workers/embedded/temporal-binary';
import {
  startTemporal,
  type TemporalOptions,
  type TemporalServer,
} from '../../src/workers/embedded/temporal-server';

export function serverFolder(prefix: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), prefix));
  // Postgres runs as another user when we are root, and must be able to enter.
  chmodSync(folder, 0o755);
  return folder;
}

export async function postgresIn(
  folder: string,
  more: Partial<PostgresOptions> = {},
): Promise<PostgresServer> {
  return await startPostgres({ stateFolder: folder, port: await freePort(), ...more });
}

/** With Waybill's search attributes; in memory, unless it is given a file. */
export async function temporalIn(
  folder: string,
  more: Partial<TemporalOptions> = {},
): Promise<TemporalServer> {
  const cli = await findTemporalCli({
    stateFolder: stateFolder(process.env, process.cwd()),
    env: process.env,
    progress: (message) => process.stderr.write(`${message}\n`),
  });
  return await startTemporal({
    executable: cli.path,
    stateFolder: folder,
    port: await freePort(),
    uiPort: await freePort(),
    searchAttributes: SEARCH_ATTRIBUTES,
    ...more,
  });
}
