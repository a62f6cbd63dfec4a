import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../../src/domain/search-attributes';
import { acquireInstanceLock } from '../../src/workers/embedded/instance-lock';
import { freePort } from '../../src/workers/embedded/ports';
import { startPostgres } from '../../src/workers/embedded/postgres-server';
import { stateFolder } from '../../src/workers/embedded/state-folder';
import { findTemporalCli } from '../../src/workers/embedded/temporal-binary';
import { startTemporal } from '../../src/workers/embedded/temporal-server';

/** The servers of one test run. */
export interface TestServers {
  /** Of a superuser. */
  readonly databaseUrl: string;
  /** `host:port`. */
  readonly temporalAddress: string;
  stop(): Promise<void>;
}

type Stop = () => void | Promise<void>;

const PREFIX = 'waybill-test-';
const ABANDONED_MS = 3_600_000;

/**
 * A real Postgres and a real Temporal server for a test run: those that `DATABASE_URL` and
 * `TEMPORAL_ADDRESS` name (then nothing is started or stopped), else embedded ones on free ports, in
 * a temporary folder that `stop` removes: Postgres without flushes to disk, Temporal in memory.
 */
export async function startTestServers(): Promise<TestServers> {
  const stops: Stop[] = [];
  const stop = async () => {
    for (const step of stops.splice(0).reverse()) await step();
  };
  try {
    const folder = await temporaryFolder(stops);
    const databaseUrl = given('DATABASE_URL') ?? (await testPostgres(folder, stops));
    const temporalAddress = given('TEMPORAL_ADDRESS') ?? (await testTemporal(folder, stops));
    return { databaseUrl, temporalAddress, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function testPostgres(folder: string, stops: Stop[]): Promise<string> {
  const server = await startPostgres({
    stateFolder: folder,
    port: await freePort(),
    maxConnections: 300,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  });
  stops.push(() => server.stop());
  return server.url;
}

async function testTemporal(folder: string, stops: Stop[]): Promise<string> {
  const cli = await findTemporalCli({
    stateFolder: stateFolder(process.env, process.cwd()),
    env: process.env,
    progress: (message) => process.stderr.write(`${message}\n`),
  });
  const server = await startTemporal({
    executable: cli.path,
    stateFolder: folder,
    port: await freePort(),
    uiPort: await freePort(),
    searchAttributes: SEARCH_ATTRIBUTES,
  });
  stops.push(() => server.stop());
  return server.address;
}

async function temporaryFolder(stops: Stop[]): Promise<string> {
  await removeAbandoned();
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // Postgres runs as another user when we are root, and must be able to enter.
  chmodSync(folder, 0o755);
  const lock = await acquireInstanceLock(folder);
  stops.push(() => {
    lock.release();
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Folders of runs that were killed: old, and no living process holds their lock. */
async function removeAbandoned(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(tmpdir(), name);
    try {
      if (Date.now() - statSync(path).mtimeMs < ABANDONED_MS) continue;
      await acquireInstanceLock(path);
      rmSync(path, { recursive: true, force: true });
    } catch {
      // Another user's, or in use.
    }
  }
}

function given(name: string): string | undefined {
  const value = process.env[name];
  return value === undefined || value === '' ? undefined : value;
}
