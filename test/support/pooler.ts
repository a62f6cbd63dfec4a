/**
 * What stands between Waybill and Postgres when several clients share few backends, transaction by
 * transaction: PgBouncer where it is installed. Where it is not, all clients share one pool of one
 * connection, which hands its only backend on after each transaction as a pooler does.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Database, DatabaseRole } from '../../src/db/database';
import { freePort } from '../../src/workers/embedded/ports';
import { testPool } from './test-database';
import { asAdmin } from './template';
import { until } from './until';

const ROLES: readonly DatabaseRole[] = [
  ...(['waybill_control', 'waybill_data', 'waybill_lifecycle', 'waybill_operations'] as const),
];
/** What a pool of Waybill asks for where no pooler is in between; see docs/operations. */
export const TIMEOUTS = {
  ...{ statement_timeout: '10s', lock_timeout: '5s' },
  idle_in_transaction_session_timeout: '15s',
} as const;
/** Of Debian; PgBouncer refuses to run as root. */
const NOBODY = 65_534;

export interface Pooler {
  readonly kind: 'pgbouncer' | 'one connection';
  /** One more client's pool; several of one role share backends. */
  client(role: DatabaseRole): Database;
  stop(): Promise<void>;
}

export async function startPooler(databaseUrl: string): Promise<Pooler> {
  const executable = findPgBouncer();
  return executable === null ? oneConnection(databaseUrl) : pgBouncer(executable, databaseUrl);
}

function findPgBouncer(): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/sbin'];
  const found = folders.map((folder) => path.join(folder, 'pgbouncer')).find(existsSync);
  return found ?? null;
}

function oneConnection(databaseUrl: string): Pooler {
  const shared = new Map<DatabaseRole, Database>();
  return {
    kind: 'one connection',
    client(role) {
      const options = { maxConnections: 1, preparedStatements: 'off' } as const;
      const pool = shared.get(role) ?? testPool(databaseUrl, role, options);
      shared.set(role, pool);
      return pool;
    },
    async stop() {
      await Promise.all([...shared.values()].map((pool) => pool.close()));
    },
  };
}

async function pgBouncer(executable: string, databaseUrl: string): Promise<Pooler> {
  const logins = await makeLogins(databaseUrl);
  const folder = mkdtempSync(path.join(tmpdir(), 'waybill-pooler-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const file = path.join(folder, 'pgbouncer.ini');
  writeFileSync(file, configuration(new URL(databaseUrl), port, logins), { mode: 0o644 });
  const asRoot = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const said: string[] = [];
  const child = spawn(executable, [file], { stdio: ['ignore', 'ignore', 'pipe'], ...asRoot });
  child.stderr.on('data', (bytes: Buffer) => said.push(bytes.toString('utf8')));
  const url = (role: DatabaseRole) => `postgres://anybody@127.0.0.1:${port}/${role}`;
  const answers = until('PgBouncer answers', () =>
    asAdmin(url('waybill_data'), (client) => client.query('select 1')).catch(() => null),
  );
  const end = async () => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
    await dropLogins(databaseUrl, logins);
  };
  await answers.catch(async (error: unknown) => {
    await end();
    throw new Error(said.join(''), { cause: error });
  });
  const pools: Database[] = [];
  return {
    kind: 'pgbouncer',
    client(role) {
      const options = { role: null, maxConnections: 4, preparedStatements: 'off' } as const;
      const pool = testPool(url(role), role, options);
      pools.push(pool);
      return pool;
    },
    async stop() {
      await Promise.all(pools.map((pool) => pool.close()));
      await end();
    },
  };
}

/** A login for each role, with the time-outs that no client can bring through the pooler. */
type Logins = ReadonlyMap<DatabaseRole, string>;
const PASSWORD = 'pooled';

async function makeLogins(databaseUrl: string): Promise<Logins> {
  const own = randomBytes(4).toString('hex');
  const logins = new Map(ROLES.map((role) => [role, `${role}_${own}`] as const));
  await asAdmin(databaseUrl, async (client) => {
    for (const [role, login] of logins) {
      await client.query(`create role ${login} login password '${PASSWORD}' in role ${role}`);
      for (const [name, value] of Object.entries(TIMEOUTS)) {
        await client.query(`alter role ${login} set ${name} = '${value}'`);
      }
    }
  });
  return logins;
}

async function dropLogins(databaseUrl: string, logins: Logins): Promise<void> {
  await asAdmin(databaseUrl, async (client) => {
    for (const login of logins.values()) await client.query(`drop role ${login}`);
  });
}

/** A database for each role, on two backends; a client's start-up parameters reach none of them. */
function configuration(server: URL, port: number, logins: Logins): string {
  const to = `host=${server.hostname} port=${server.port} dbname=${server.pathname.slice(1)}`;
  return [
    '[databases]',
    ...[...logins].map(
      ([role, login]) => `${role} = ${to} user=${login} password=${PASSWORD} pool_size=2`,
    ),
    '[pgbouncer]',
    'pool_mode = transaction',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout',
    '',
  ].join('\n');
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGKILL');
  await closed;
}
