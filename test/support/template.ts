/** The migrated template that each test file's own database is a clone of. */
import { Client } from 'pg';
import { migrate } from '../../src/db/migrations';
import { readFreshState, type FreshState } from './fresh-state';

/** What each clone of it is like. */
export async function createTemplate(adminUrl: string, name: string): Promise<FreshState> {
  await asAdmin(adminUrl, (client) => client.query(`create database ${name}`));
  const url = databaseUrl(adminUrl, name);
  await migrateForTests(url);
  return await asAdmin(url, readFreshState);
}

/**
 * Migrates; targets of tests are on this machine, and those about addresses say what they allow. A test
 * about evidence says what it requires.
 */
export async function migrateForTests(url: string): Promise<void> {
  await migrate(url);
  await asAdmin(url, (client) =>
    client.query(
      `update waybill.settings set target_addresses =
        '{"http": false, "ports": [443], "allow": ["127.0.0.0/8", "::1/128"]}',
        required_evidence = '{}'`,
    ),
  );
}

export async function dropTemplate(adminUrl: string, name: string): Promise<void> {
  await asAdmin(adminUrl, (client) => client.query(`drop database if exists ${name} with (force)`));
}

/** The same server, another database. */
export function databaseUrl(adminUrl: string, database: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  return url.toString();
}

/** Runs work on one administrator's connection of its own. */
export async function asAdmin<Result>(
  adminUrl: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
