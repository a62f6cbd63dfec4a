/**
 * A database of its own for one test file, or one test: a clone of the migrated template, which is as good as
 * new for each test that asks, and dropped at the end of the file.
 * `admin` bypasses row-level security: it is for set-up and for verdicts, never for the product.
 */
import { randomBytes } from 'node:crypto';
import { Pool } from 'pg';
import type { QueryResultRow } from 'pg';
import { Database } from '../../src/db/database';
import type { DatabaseOptions, DatabaseRole } from '../../src/db/database';
import { refresh, type FreshState } from './fresh-state';
import { asAdmin, databaseUrl } from './template';

export interface TestDatabase {
  /** The administrator's URL of this database. */
  readonly url: string;
  /** A pool as one of Waybill's roles; closed with the database. */
  as(role: DatabaseRole): Database;
  /** Rows of an administrator's query. */
  rows<R extends QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]>;
  drop(): Promise<void>;
}

interface Clone {
  readonly name: string;
  readonly url: string;
  /** One connection, and another one where a restore has cut it. */
  readonly admin: Pool;
}

/** Those that a test of this file has done with, for its next one. */
const used: Clone[] = [];
let fileIsOver = false;

afterAll(async () => {
  fileIsOver = true;
  for (const clone of used.splice(0)) await dropClone(clone);
});

export async function createTestDatabase(): Promise<TestDatabase> {
  const clone = (await usedClone()) ?? (await newClone());
  const { admin, url } = clone;
  const pools = testPools(url);
  return {
    url,
    as: pools.as,
    rows: async <R extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      (await admin.query<R>(text, [...values])).rows,
    async drop() {
      await pools.close();
      if (fileIsOver) await dropClone(clone);
      else used.push(clone);
    },
  };
}

async function newClone(): Promise<Clone> {
  const server = required('WAYBILL_TEST_DATABASE_URL');
  const name = `waybill_test_${randomBytes(6).toString('hex')}`;
  const template = required('WAYBILL_TEST_TEMPLATE');
  // As files: by the default strategy 19 MB of log are written for each, at eight times the cost.
  await asAdmin(server, (client) =>
    client.query(`create database ${name} template ${template} strategy file_copy`),
  );
  const url = databaseUrl(server, name);
  const admin = new Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 });
  admin.on('error', () => undefined);
  return { name, url, admin };
}

/** As good as a new one; none where there is none, or where it was changed in more than its rows. */
async function usedClone(): Promise<Clone | undefined> {
  const clone = used.pop();
  if (clone === undefined) return undefined;
  const fresh = JSON.parse(required('WAYBILL_TEST_FRESH_STATE')) as FreshState;
  const client = await clone.admin.connect();
  try {
    if (await refresh(client, fresh)) return clone;
  } finally {
    client.release();
  }
  await dropClone(clone);
  return undefined;
}

async function dropClone({ name, admin }: Clone): Promise<void> {
  await admin.end();
  await asAdmin(required('WAYBILL_TEST_DATABASE_URL'), (client) =>
    client.query(`drop database ${name} with (force)`),
  );
}

/** A pool a role, made when it is first asked for. */
export function testPools(url: string): {
  readonly as: (role: DatabaseRole) => Database;
  readonly close: () => Promise<void>;
} {
  const pools = new Map<DatabaseRole, Database>();
  return {
    as(role) {
      const known = pools.get(role) ?? testPool(url, role);
      pools.set(role, known);
      return known;
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.close()));
    },
  };
}

export function testPool(
  url: string,
  role: DatabaseRole,
  changes: Partial<DatabaseOptions> = {},
): Database {
  return new Database({
    url,
    role,
    maxConnections: 5,
    statementTimeoutMs: 10_000,
    applicationName: 'waybill-test',
    preparedStatements: 'on',
    onIdleError: () => undefined,
    ...changes,
  });
}

export function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is set by the global set-up of the tests`);
  return value;
}
