import { statSync, realpathSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { WaybillError } from '../../domain/errors';
import { runCommand } from './run-command';

/** An OS user by its numbers. */
export interface ServiceUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const COMMAND_TIMEOUT_MS = 10_000;

/**
 * The OS user that Postgres runs as, or undefined when that is simply us: Postgres refuses to run
 * as root. As root it is `postgres`, which is created when missing, or else `nobody`.
 */
export async function serviceUser(env: NodeJS.ProcessEnv): Promise<ServiceUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const existing = await lookUp('postgres', env);
  if (existing !== undefined) return existing;
  const flags = ['--system', '--user-group', '--no-create-home'];
  await runCommand('useradd', [...flags, 'postgres'], { env, timeoutMs: COMMAND_TIMEOUT_MS });
  const user = (await lookUp('postgres', env)) ?? (await lookUp('nobody', env));
  if (user !== undefined) return user;
  throw new WaybillError(
    'server_start_failed',
    'Postgres cannot run as root, and there is no OS user "postgres" and none could be created; ' +
      'create it, start as an ordinary user, or set DATABASE_URL.',
  );
}

/** True when that user can enter every folder on the way to `path` and read `path` itself. */
export function isReachable(path: string, user: ServiceUser): boolean {
  let current = realpathSync(path);
  const target = statSync(current);
  const wanted = target.isDirectory() ? READ | ENTER : READ;
  if (!allows(target, user, wanted)) return false;
  while (current !== dirname(current)) {
    current = dirname(current);
    if (!allows(statSync(current), user, ENTER)) return false;
  }
  return true;
}

const READ = 0o4;
const ENTER = 0o1;

function allows(stats: Stats, user: ServiceUser, bits: number): boolean {
  const shift = stats.uid === user.uid ? 6 : stats.gid === user.gid ? 3 : 0;
  return ((stats.mode >> shift) & bits) === bits;
}

async function lookUp(name: string, env: NodeJS.ProcessEnv): Promise<ServiceUser | undefined> {
  const options = { env, timeoutMs: COMMAND_TIMEOUT_MS };
  const uid = await runCommand('id', ['-u', name], options);
  const gid = await runCommand('id', ['-g', name], options);
  if (!uid.ok || !gid.ok) return undefined;
  return { name, uid: Number(uid.stdout), gid: Number(gid.stdout) };
}
