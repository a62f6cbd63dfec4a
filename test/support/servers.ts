import { readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { acquireInstanceLock } from '../../src/workers/embedded/instance-lock';
import { postgresIn, serverFolder, temporalIn } from './embedded-servers';

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
  const server = await postgresIn(folder, {
    maxConnections: 300,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
  });
  stops.push(() => server.stop());
  return server.url;
}

async function testTemporal(folder: string, stops: Stop[]): Promise<string> {
  const server = await temporalIn(folder);
  stops.push(() => server.stop());
  return server.address;
}

async function temporaryFolder(stops: Stop[]): Promise<string> {
  await removeAbandoned();
  const folder = serverFolder(PREFIX);
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
