/**
 * Backups of a test's database, and restores from them: a clone, swapped in by name. Every connection is
 * cut on the way, as it is where a server is restored.
 */
import type { Client } from 'pg';
import { asAdmin } from './template';
import { required, type TestDatabase } from './test-database';

export interface Backup {
  /** Once: the database is what it was; what was done since is gone. */
  restore(): Promise<void>;
}

export async function takeBackup(db: TestDatabase): Promise<Backup> {
  const name = new URL(db.url).pathname.slice(1);
  const copy = `${name}_backup`;
  const lost = `${name}_lost`;
  await alone(name, async (client) => {
    await client.query(`create database ${copy} template ${name} strategy file_copy`);
  });
  return {
    async restore() {
      await alone(name, async (client) => {
        await client.query(`alter database ${name} rename to ${lost}`);
        await client.query(`alter database ${copy} rename to ${name}`);
        await client.query(`drop database ${lost} with (force)`);
      });
    },
  };
}

/** Runs the work while nobody is connected to the database. */
async function alone(name: string, work: (client: Client) => Promise<void>): Promise<void> {
  await asAdmin(required('WAYBILL_TEST_DATABASE_URL'), async (client) => {
    await client.query(`alter database ${name} with allow_connections false`);
    await client.query(
      'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1',
      [name],
    );
    await work(client);
    await client.query(`alter database ${name} with allow_connections true`);
  });
}
