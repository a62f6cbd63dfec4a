/**
 * The servers of a run: those that `DATABASE_URL` and `TEMPORAL_ADDRESS` name, else embedded ones in
 * a temporary folder. Nothing of a run stays: databases and namespace are its own and are dropped.
 */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SEARCH_ATTRIBUTES } from '../src/domain/search-attributes';
import { freePort } from '../src/workers/embedded/ports';
import { startPostgres } from '../src/workers/embedded/postgres-server';
import { stateFolder } from '../src/workers/embedded/state-folder';
import { findTemporalCli } from '../src/workers/embedded/temporal-binary';
import { startTemporal } from '../src/workers/embedded/temporal-server';
import { Closers } from '../src/workers/closers';
import type { MeasuredProcess } from './cpu';
import { durabilityOf } from './databases';
import { useNamespace, type BenchNamespace } from './namespaces';

export interface Environment {
  /** Of an administrator; benchmarks make databases of their own on this server. */
  readonly databaseUrl: string;
  /** Of this run, for logs and keys; goes with it. */
  readonly folder: string;
  readonly temporal: BenchNamespace;
  /** What a commit means on these servers, for people. */
  readonly durability: string;
  /** The servers that the run started itself. */
  readonly servers: readonly MeasuredProcess[];
  stop(): Promise<void>;
}

export async function startEnvironment(progress: (line: string) => void): Promise<Environment> {
  const closers = new Closers();
  try {
    const folder = temporaryFolder(closers);
    const servers: MeasuredProcess[] = [];
    const own: OwnServers = { folder, closers, servers };
    const databaseUrl = given('DATABASE_URL') ?? (await ownPostgres(own));
    const address = given('TEMPORAL_ADDRESS');
    // The product's connections read the environment, here and in the child processes.
    process.env['TEMPORAL_ADDRESS'] = address ?? (await ownTemporal(own, progress));
    const temporal = await useNamespace(address !== undefined, closers);
    const storage = address === undefined ? 'Temporal dev server in memory' : 'Temporal as given';
    const flushes = given('DATABASE_URL') === undefined ? flushesTo(folder) : '';
    const durability = `${await durabilityOf(databaseUrl)}${flushes}; ${storage}`;
    return { databaseUrl, folder, temporal, durability, servers, stop: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

interface OwnServers {
  readonly folder: string;
  readonly closers: Closers;
  readonly servers: MeasuredProcess[];
}

/** With Postgres as shipped: every commit is flushed to disk before it is answered. */
async function ownPostgres({ folder, closers, servers }: OwnServers): Promise<string> {
  const server = await startPostgres({ stateFolder: folder, port: await freePort() });
  closers.add(() => server.stop());
  if (server.pid !== undefined)
    servers.push({ name: 'postgres', pid: server.pid, withChildren: true });
  return server.url;
}

/** In memory it is at its fastest, which makes the baselines fast: the hard case for a ratio. */
async function ownTemporal(
  { folder, closers, servers }: OwnServers,
  progress: (line: string) => void,
): Promise<string> {
  const cli = await findTemporalCli({
    stateFolder: stateFolder(process.env, process.cwd()),
    env: process.env,
    progress,
  });
  const server = await startTemporal({
    executable: cli.path,
    stateFolder: folder,
    port: await freePort(),
    uiPort: await freePort(),
    searchAttributes: SEARCH_ATTRIBUTES,
  });
  closers.add(() => server.stop());
  if (server.pid !== undefined) servers.push({ name: 'temporal', pid: server.pid });
  return server.address;
}

function temporaryFolder(closers: Closers): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'waybill-bench-'));
  // Postgres runs as another user when we are root, and must be able to enter.
  chmodSync(folder, 0o755);
  closers.add(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Linux's TMPFS_MAGIC. */
const MEMORY_FILE_SYSTEM = 0x01021994;

/** A flush to memory costs nothing, which flatters nobody but must be said. */
function flushesTo(folder: string): string {
  return statfsSync(folder).type === MEMORY_FILE_SYSTEM ? ' (to a memory file system)' : '';
}

function given(name: string): string | undefined {
  const value = process.env[name];
  return value === undefined || value === '' ? undefined : value;
}
