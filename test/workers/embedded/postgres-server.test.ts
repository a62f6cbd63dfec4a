import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort } from '../../../src/workers/embedded/ports';
import { startPostgres, type PostgresServer } from '../../../src/workers/embedded/postgres-server';
import { gone, newFolder, removeFolders } from './fixtures';

const settings = { fsync: 'off', checkpoint_timeout: '30min' };
const asRoot = process.getuid?.() === 0;

/** A real Postgres of its own, since it is killed here. */
describe('embedded Postgres', () => {
  let stateFolder: string;
  let server: PostgresServer;

  beforeAll(async () => {
    stateFolder = newFolder();
    server = await startPostgres({
      stateFolder,
      port: await freePort(),
      maxConnections: 17,
      settings,
    });
  });

  afterAll(async () => {
    await server.stop();
    removeFolders();
  });

  test('does not depend on the machine: UTF-8, C.UTF-8, UTC, loopback only, its own settings', async () => {
    const [row] = await query(
      server.url,
      `select pg_encoding_to_char(encoding) as encoding, datlocale as locale,
              current_setting('timezone') as timezone,
              current_setting('listen_addresses') as addresses,
              current_setting('unix_socket_directories') as sockets,
              current_setting('max_connections') as connections,
              current_setting('fsync') as fsync
         from pg_database where datname = 'postgres'`,
    );
    expect(row).toEqual({
      encoding: 'UTF8',
      locale: 'C.UTF-8',
      timezone: 'UTC',
      addresses: '127.0.0.1',
      sockets: '',
      connections: '17',
      fsync: 'off',
    });
  });

  test('its password is for us alone, and needed', async () => {
    const file = join(stateFolder, 'postgres.password');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(server.url).toContain(`:${readFileSync(file, 'utf8').trim()}@`);
    const wrong = server.url.replace(/:[^:@]+@/, ':guess@');
    await expect(query(wrong, 'select 1')).rejects.toMatchObject({ code: '28P01' });
  });

  test('killed with a session at work, it starts again with what was committed', async () => {
    await query(server.url, 'create table kept as select 1 as n');
    const busy = new Client({ connectionString: server.url });
    busy.on('error', () => undefined);
    await busy.connect();
    const work = busy.query('select pg_sleep(60)').catch((error: unknown) => error);
    const first = server.pid ?? 0;
    await server.kill('SIGKILL');
    expect(server.pid).toBeUndefined();
    await work;
    await server.start();
    expect(server.pid).not.toBe(first);
    await expect(query(server.url, 'select n from kept')).resolves.toEqual([{ n: 1 }]);
  });

  test('an end that nobody asked for is told', async () => {
    const lost = new Promise((resolve) => {
      server.onLost(resolve);
    });
    process.kill(server.pid ?? 0, 'SIGQUIT');
    await expect(lost).resolves.toMatchObject({ signal: null });
    expect(server.pid).toBeUndefined();
    await server.start();
  });

  test('stopped and opened anew, it has its data and leaves no process', async () => {
    const before = server.pid ?? 0;
    await server.stop();
    await gone(before);
    expect(existsSync(join(stateFolder, 'run', 'postgres.json'))).toBe(false);
    server = await startPostgres({ stateFolder, port: server.port, settings });
    await expect(query(server.url, 'select n from kept')).resolves.toEqual([{ n: 1 }]);
  });

  test('a setting that Postgres refuses is an error with its last lines and the log', async () => {
    await server.stop();
    const options = { stateFolder, port: server.port };
    const broken = startPostgres({ ...options, settings: { ...settings, no_such: '1' } });
    await expect(broken).rejects.toMatchObject({ code: 'server_start_failed' });
    await expect(broken).rejects.toThrow(/logs\/postgres\.log.*its last lines:[^]*"no_such"/);
  });

  test('a taken port is named with its setting', async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(server.port, '127.0.0.1', resolve));
    const portSetting = '--postgres-port';
    await expect(
      startPostgres({ stateFolder, port: server.port, portSetting, settings }),
    ).rejects.toMatchObject({
      code: 'port_in_use',
      message: expect.stringContaining('wanted by Postgres, is in use') as string,
    });
    await new Promise((resolve) => holder.close(resolve));
  });

  test('a database whose password was lost is not touched', async () => {
    rmSync(join(stateFolder, 'postgres.password'));
    const opened = startPostgres({ stateFolder, port: server.port, settings });
    await expect(opened).rejects.toThrow('postgres.password is missing');
    expect(existsSync(join(server.dataFolder, 'PG_VERSION'))).toBe(true);
  });
});

/**
 * Root's Postgres runs as another user, who cannot enter a private folder; an ordinary user's runs
 * as that user, and has its data where it belongs.
 */
test('a private state folder does: for root the data goes where Postgres can reach it', async () => {
  const stateFolder = join(newFolder(0o700), 'state');
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const server = await startPostgres({ stateFolder, port: await freePort(), settings, log });
  try {
    await query(server.url, 'create table kept as select 1 as n');
    await server.stop();
    await server.start();
    await expect(query(server.url, 'select n from kept')).resolves.toEqual([{ n: 1 }]);
    expect(server.dataFolder.startsWith(stateFolder)).toBe(!asRoot);
    expect(lines.some((line) => line.includes(server.dataFolder))).toBe(asRoot);
  } finally {
    await server.stop();
    if (asRoot) rmSync(join(server.dataFolder, '..'), { recursive: true, force: true });
    removeFolders();
  }
});

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
