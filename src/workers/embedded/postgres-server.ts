import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { embeddedServer, type EmbeddedServer } from './embedded-server';
import type { ExitReport, GuardSpec } from './guard-protocol';
import { ensureCluster } from './postgres-cluster';
import { placePostgres, type Placement } from './postgres-placement';
import { requireFreePort } from './ports';
import { processState } from './process-identity';
import { serverEnvironment } from './state-folder';

export interface PostgresOptions {
  /** Data, password, logs and records lie below it (see `placePostgres` for root). */
  readonly stateFolder: string;
  /** On loopback. */
  readonly port: number;
  /** What a user changes to get another port, for the message when it is taken. */
  readonly portSetting?: string;
  readonly maxConnections?: number;
  /** Further settings of `postgresql.conf`, such as `fsync: 'off'` for tests. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly log?: (line: string) => void;
}

export interface PostgresServer extends EmbeddedServer {
  /** Of the superuser `postgres`, with its password, for the database `postgres`. */
  readonly url: string;
  readonly port: number;
  readonly dataFolder: string;
}

/** Crash recovery replays the log since the last checkpoint: seconds, on a slow disk a minute. */
const READY_TIMEOUT_MS = 90_000;
/** A fast shutdown ends sessions and writes a checkpoint. */
const STOP_TIMEOUT_MS = 20_000;

/**
 * Starts the Postgres of a state folder, creating its database cluster the first time, and resolves
 * when it accepts connections on 127.0.0.1. Works as root (it then runs as another user) and as an
 * ordinary user; recovers by itself after a crash of the server or of this process.
 *
 * Errors: `port_in_use`, `server_start_failed` (with the last lines of its log).
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const log = options.log ?? (() => undefined);
  mkdirSync(options.stateFolder, { recursive: true });
  const env = serverEnvironment(process.env);
  const placement = await placePostgres(options.stateFolder, process.env, log);
  const durable = options.settings?.['fsync'] !== 'off';
  const { stateFolder, port } = options;
  const password = await ensureCluster({ stateFolder, placement, env, durable });
  const server = embeddedServer({
    title: 'Postgres',
    prepare: async () => {
      const setting = options.portSetting ?? 'the port of the embedded Postgres';
      await requireFreePort({ port, wantedBy: 'Postgres', setting });
      removeForeignPidFile(placement.dataFolder);
    },
    spec: () => postgresSpec(options, placement, env),
    isReady: (pid) => Promise.resolve(isReady(placement.dataFolder, pid)),
    readyTimeoutMs: READY_TIMEOUT_MS,
    isPassing: predecessorStillEnds,
    log,
  });
  await server.start();
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  return withDetails(server, { url, port, dataFolder: placement.dataFolder });
}

/** Object spread would read the getter `pid` once and for all. */
function withDetails(
  server: EmbeddedServer,
  details: Omit<PostgresServer, keyof EmbeddedServer>,
): PostgresServer {
  return Object.assign(server, details);
}

function postgresSpec(
  options: PostgresOptions,
  placement: Placement,
  env: Record<string, string>,
): GuardSpec {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    // Its path would have to be short; nobody here needs a socket file.
    unix_socket_directories: '',
    max_connections: String(options.maxConnections ?? 100),
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const { user, dataFolder } = placement;
  return {
    name: 'postgres',
    command: join(placement.binariesFolder, 'bin', 'postgres'),
    args: ['-D', dataFolder, '-p', String(options.port), ...flags],
    env,
    cwd: dataFolder,
    ...(user === undefined ? {} : { user: { uid: user.uid, gid: user.gid } }),
    logFile: join(options.stateFolder, 'logs', 'postgres.log'),
    recordFile: join(options.stateFolder, 'run', 'postgres.json'),
    // A fast shutdown: sessions are ended, nothing is lost.
    stopSignal: 'SIGINT',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  };
}

/** Line 1 of the server's own pid file is its pid, line 8 its state. */
function isReady(dataFolder: string, pid: number): boolean {
  const lines = pidFileLines(dataFolder);
  return lines[0] === String(pid) && lines[7]?.startsWith('ready') === true;
}

function pidFileLines(dataFolder: string): string[] {
  try {
    return readFileSync(join(dataFolder, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}

/**
 * After a crash the pid file may name a pid that something else has by now, and Postgres would
 * refuse to start. Where the command line shows that, the file goes; two servers on one cluster
 * stay impossible, because Postgres also checks its shared memory.
 */
function removeForeignPidFile(dataFolder: string): void {
  const pid = Number(pidFileLines(dataFolder)[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !processState(pid).alive) return;
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    if (command.includes(dataFolder)) return;
    rmSync(join(dataFolder, 'postmaster.pid'), { force: true });
  } catch {
    // No such view on this system, or the process is gone: Postgres decides.
  }
}

/** The sessions of a killed server take a moment to notice; until then Postgres refuses to start. */
function predecessorStillEnds(report: ExitReport): boolean {
  return report.tail.some((line) => line.includes('pre-existing shared memory block'));
}
