/** Embedded servers for tests, on free ports. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { QueryResultRow } from 'pg';
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
import { asAdmin, migrateForTests } from './template';
import { testPools, type TestDatabase } from './test-database';

/** A Postgres and a Temporal server of one test's own, to be killed and started again. */
export interface OwnServers {
  readonly postgres: PostgresServer;
  readonly temporal: TemporalServer;
  /** Migrated. It outlives its server: each administrator's query has a connection of its own. */
  readonly db: TestDatabase;
  stop(): Promise<void>;
}

export async function startOwnServers(): Promise<OwnServers> {
  const folder = serverFolder('waybill-servers-');
  const postgres = await postgresIn(folder);
  const temporal = await temporalIn(folder, { databaseFile: path.join(folder, 'temporal.db') });
  await migrateForTests(postgres.url);
  return {
    postgres,
    temporal,
    db: outlivingDatabase(postgres.url),
    async stop() {
      await temporal.stop();
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

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

function outlivingDatabase(url: string): TestDatabase {
  const pools = testPools(url);
  return {
    url,
    as: pools.as,
    rows: async <R extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      await asAdmin(url, async (client) => (await client.query<R>(text, [...values])).rows),
    drop: pools.close,
  };
}
