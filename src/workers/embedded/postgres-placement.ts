import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { WaybillError } from '../../domain/errors';
import { postgresPackage, runnableBinaries } from './postgres-binaries';
import { isReachable, serviceUser, type ServiceUser } from './service-user';

/** Where Postgres lives and as whom it runs. */
export interface Placement {
  /** The cluster; absent until it was created. */
  readonly dataFolder: string;
  /** Holds `bin`, `lib` and `share`. */
  readonly binariesFolder: string;
  readonly user: ServiceUser | undefined;
}

/**
 * Decides where the cluster of a state folder lies. Normally that is `<state>/postgres`.
 *
 * As root Postgres runs as another user, who may not be able to enter the state folder (a clone
 * under a private home). Then the cluster lies in a folder of its own outside, whose path is kept
 * in `<state>/postgres.location`: removing the state folder gives a fresh database, moving it keeps
 * the old one, and a later start finds the same cluster even when the rights have changed.
 */
export async function placePostgres(
  stateFolder: string,
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<Placement> {
  const inside = join(stateFolder, 'postgres');
  const fallbackUser = await serviceUser(env);
  if (fallbackUser === undefined) {
    const copies = () => join(stateFolder, 'bin');
    const binariesFolder = await runnableBinaries(postgresPackage(), undefined, copies);
    return { dataFolder: inside, binariesFolder, user: undefined };
  }
  const dataFolder = rootDataFolder(stateFolder, fallbackUser);
  const user = ownerOf(dataFolder, fallbackUser);
  if (dataFolder === inside && existsSync(inside) && !isReachable(stateFolder, user)) {
    throw new WaybillError(
      'server_start_failed',
      `The database is in ${inside}, which the user "${user.name}" (Postgres does not run as ` +
        'root) cannot enter; allow others to enter the folders above it (chmod o+x).',
    );
  }
  if (dataFolder !== inside) {
    log(
      `Postgres keeps its data in ${dataFolder}: the user "${user.name}", whom it runs as instead ` +
        `of root, cannot enter ${stateFolder}`,
    );
  }
  const binariesFolder = await runnableBinaries(postgresPackage(), user, outsideFolder);
  return { dataFolder, binariesFolder, user };
}

function rootDataFolder(stateFolder: string, user: ServiceUser): string {
  const inside = join(stateFolder, 'postgres');
  const kept = keptLocation(stateFolder);
  if (kept !== undefined) return join(kept, 'postgres');
  if (existsSync(inside) || isReachable(stateFolder, user)) return inside;
  const parent = join(outsideFolder(), randomBytes(8).toString('hex'));
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  writeFileSync(join(stateFolder, 'postgres.location'), `${parent}\n`, { mode: 0o644 });
  return join(parent, 'postgres');
}

/** A cluster that an ordinary user made stays that user's, also when root starts it. */
function ownerOf(dataFolder: string, fallback: ServiceUser): ServiceUser {
  const found = statSync(dataFolder, { throwIfNoEntry: false });
  if (found === undefined || found.uid === 0 || found.uid === fallback.uid) return fallback;
  return { name: `#${found.uid}`, uid: found.uid, gid: found.gid };
}

/** The recorded place, if it is one that this module would choose. */
function keptLocation(stateFolder: string): string | undefined {
  const file = join(stateFolder, 'postgres.location');
  if (!existsSync(file)) return undefined;
  const parent = readFileSync(file, 'utf8').trim();
  const ours = candidates().includes(dirname(parent)) && /^[0-9a-f]{16}$/.test(basename(parent));
  return ours && existsSync(parent) ? parent : undefined;
}

function candidates(): string[] {
  return [join('/var', 'lib', 'waybill'), join(tmpdir(), 'waybill')];
}

/** The first folder outside that root owns alone: in a shared one another user could wait for us. */
function outsideFolder(): string {
  for (const folder of candidates()) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o755 });
      const { uid, mode } = statSync(folder);
      if (uid === 0 && (mode & 0o022) === 0) return folder;
    } catch {
      // Read-only or not a folder: the next one.
    }
  }
  throw new WaybillError(
    'server_start_failed',
    `No folder for Postgres can be made (tried ${candidates().join(', ')}); set DATABASE_URL.`,
  );
}
