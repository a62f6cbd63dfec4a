import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { chmod, mkdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { publishedSha256 } from './temporal-release';

/** How much is known of an executable's origin. */
type Verification =
  /** Its hash is the published one of the release. */
  | 'published-hash'
  /** Nobody published its hash; it is the one noted when it was fetched. */
  | 'recorded-hash'
  /** It is the user's own; there is nothing to compare its hash with. */
  | 'user-supplied';

export interface CachedExecutable {
  readonly path: string;
  readonly sha256: string;
  readonly verified: Verification;
}

export type CacheAnswer = { readonly kind: 'absent' } | AddAnswer;

export type AddAnswer =
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'found'; readonly executable: CachedExecutable };

const ABANDONED_MS = 3_600_000;

/**
 * The cached executable of a version, checked by hash now. One that does not have the published or
 * recorded hash is removed and `refused`: it must not run.
 */
export async function readCache(folder: string, version: string): Promise<CacheAnswer> {
  const path = cachedPath(folder, version);
  if (!existsSync(path)) return { kind: 'absent' };
  const published = publishedSha256(version);
  const expected = published ?? recordedSha256(path);
  const sha256 = await sha256Of(path);
  if (sha256 === expected) {
    await chmod(path, 0o755).catch(() => undefined);
    return { kind: 'found', executable: { path, sha256, verified: origin(published) } };
  }
  await rm(path, { force: true });
  await rm(`${path}.sha256`, { force: true });
  return { kind: 'refused', reason: `${path} did not have the expected SHA-256; it was removed` };
}

/**
 * Moves a fetched executable into the cache, in one step, once its hash is right; where no hash is
 * published, the hash is recorded beside it. A mismatch is answered as a reason and removes the
 * file.
 */
export async function addToCache(
  folder: string,
  version: string,
  fetched: string,
): Promise<AddAnswer> {
  const published = publishedSha256(version);
  const sha256 = await sha256Of(fetched);
  if (published !== undefined && sha256 !== published) {
    await rm(fetched, { force: true });
    return { kind: 'refused', reason: `its SHA-256 is ${sha256}, not the published ${published}` };
  }
  const path = cachedPath(folder, version);
  await chmod(fetched, 0o755);
  if (published === undefined) await writeFile(`${path}.sha256`, `${sha256}\n`);
  await rename(fetched, path);
  return { kind: 'found', executable: { path, sha256, verified: origin(published) } };
}

/**
 * Gives `use` a fresh folder inside the cache folder (so that a rename out of it is one step) and
 * removes it afterwards, with those that killed processes left behind.
 */
export async function withFetchFolder<T>(
  cacheFolder: string,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  await mkdir(cacheFolder, { recursive: true });
  for (const name of readdirSync(cacheFolder)) {
    if (!name.startsWith('fetch-')) continue;
    const path = join(cacheFolder, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS) {
      await rm(path, { recursive: true, force: true });
    }
  }
  const folder = mkdtempSync(join(cacheFolder, 'fetch-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** SHA-256 of a file's bytes, in lower-case hex. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest('hex');
}

function cachedPath(folder: string, version: string): string {
  return join(folder, `temporal-${version}`);
}

function recordedSha256(path: string): string | undefined {
  try {
    return readFileSync(`${path}.sha256`, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function origin(published: string | undefined): Verification {
  return published === undefined ? 'recorded-hash' : 'published-hash';
}
