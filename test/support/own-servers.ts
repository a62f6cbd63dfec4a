import { rmSync } from 'node:fs';
import path from 'node:path';
import type { QueryResultRow } from 'pg';
import type { PostgresServer } from '../../src/workers/embedded/postgres-server';
import type { TemporalServer } from '../../src/workers/embedded/temporal-server';
import { postgresIn, serverFolder, temporalIn } from './embedded-servers';
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
