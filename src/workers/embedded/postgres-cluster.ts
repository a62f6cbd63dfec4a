import { randomBytes } from 'node:crypto';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { WaybillError } from '../../domain/errors';
import type { Placement } from './postgres-placement';
import { runCommand } from './run-command';
import type { ServiceUser } from './service-user';

const INITDB_TIMEOUT_MS = 60_000;

export interface ClusterOptions {
  readonly stateFolder: string;
  readonly placement: Placement;
  readonly env: Record<string, string>;
  /** False skips the flush to disk of a new cluster: for tests. */
  readonly durable: boolean;
}

/**
 * Creates the cluster unless it is there, and returns the password of its superuser `postgres`,
 * which is kept in `<state>/postgres.password` for us alone.
 *
 * The cluster is made aside and renamed when complete: a start that is killed halfway leaves
 * nothing that looks like a database. Encoding and collation do not depend on the machine: UTF-8
 * with Postgres's own `C.UTF-8`.
 */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { dataFolder } = options.placement;
  const passwordFile = join(options.stateFolder, 'postgres.password');
  const exists = existsSync(dataFolder);
  if (exists && !existsSync(join(dataFolder, 'PG_VERSION'))) {
    throw new WaybillError(
      'server_start_failed',
      `${dataFolder} is no database of this user; start as its owner, remove it, or use another ` +
        'folder with WAYBILL_HOME.',
    );
  }
  if (existsSync(passwordFile)) {
    const password = readFileSync(passwordFile, 'utf8').trim();
    if (!exists) await createCluster(options, password);
    return password;
  }
  if (exists) {
    throw new WaybillError(
      'server_start_failed',
      `${passwordFile} is missing, and the database in ${dataFolder} cannot be opened without ` +
        'it; put it back, or remove the database to begin afresh.',
    );
  }
  const password = randomBytes(24).toString('base64url');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  await createCluster(options, password);
  return password;
}

async function createCluster(options: ClusterOptions, password: string): Promise<void> {
  const { dataFolder, binariesFolder, user } = options.placement;
  removeDrafts(dataFolder);
  const draft = `${dataFolder}.new-${process.pid}`;
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  const passwordFile = join(draft, 'password');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  giveTo(user, draft, passwordFile);
  const result = await runCommand(
    join(binariesFolder, 'bin', 'initdb'),
    [
      `--pgdata=${join(draft, 'data')}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      ...(options.durable ? [] : ['--no-sync']),
    ],
    { env: options.env, timeoutMs: INITDB_TIMEOUT_MS, ...(user === undefined ? {} : { user }) },
  );
  if (!result.ok) {
    rmSync(draft, { recursive: true, force: true });
    throw new WaybillError(
      'server_start_failed',
      `The database could not be created in ${dataFolder}: ${result.reason}`,
    );
  }
  renameSync(join(draft, 'data'), dataFolder);
  rmSync(draft, { recursive: true, force: true });
}

/** Those of earlier starts that were killed while creating. */
function removeDrafts(dataFolder: string): void {
  const parent = dirname(dataFolder);
  for (const name of readdirSync(parent)) {
    if (name.startsWith(`${basename(dataFolder)}.new-`)) {
      rmSync(join(parent, name), { recursive: true, force: true });
    }
  }
}

function giveTo(user: ServiceUser | undefined, ...paths: string[]): void {
  if (user === undefined) return;
  for (const path of paths) chownSync(path, user.uid, user.gid);
}
