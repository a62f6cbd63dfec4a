import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import {
  addToCache,
  readCache,
  sha256Of,
  withFetchFolder,
} from '../../../src/workers/embedded/temporal-cache';
import { goRelease, release } from '../../../src/workers/embedded/temporal-release';
import { newFolder, removeFolders } from './fixtures';

afterAll(removeFolders);

function fetchedFile(folder: string, content: string): string {
  const path = join(folder, 'fetched');
  writeFileSync(path, content);
  return path;
}

/** A version without a published hash stands for builds of one's own. */
describe('the cache of Temporal executables', () => {
  test('an executable whose hash nobody published is checked against the recorded one', async () => {
    const folder = newFolder();
    const { version } = goRelease;
    const added = await addToCache(folder, version, fetchedFile(folder, 'built'));
    const path = join(folder, `temporal-${version}`);
    const sha256 = await sha256Of(path);
    const executable = { path, sha256, verified: 'recorded-hash' };
    expect(added).toEqual({ kind: 'found', executable });
    await expect(readCache(folder, version)).resolves.toEqual({ kind: 'found', executable });
    expect(readFileSync(`${path}.sha256`, 'utf8').trim()).toBe(sha256);
  });

  test('a changed executable is refused and removed', async () => {
    const folder = newFolder();
    const { version } = goRelease;
    await addToCache(folder, version, fetchedFile(folder, 'built'));
    const path = join(folder, `temporal-${version}`);
    writeFileSync(path, 'changed');
    await expect(readCache(folder, version)).resolves.toMatchObject({ kind: 'refused' });
    expect(existsSync(path)).toBe(false);
    await expect(readCache(folder, version)).resolves.toEqual({ kind: 'absent' });
  });

  test('an executable without any record is refused', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, `temporal-${goRelease.version}`), 'from somewhere');
    await expect(readCache(folder, goRelease.version)).resolves.toMatchObject({ kind: 'refused' });
  });

  test('a fetched file that is not the published one never enters', async () => {
    const folder = newFolder();
    const answer = await addToCache(folder, release.version, fetchedFile(folder, 'forged'));
    expect(answer).toMatchObject({ kind: 'refused' });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('what killed fetches left behind is removed by the next one', async () => {
    const folder = newFolder();
    const old = join(folder, 'fetch-old');
    const recent = join(folder, 'fetch-recent');
    mkdirSync(old);
    mkdirSync(recent);
    utimesSync(old, 0, 0);
    await withFetchFolder(folder, (own) => {
      writeFileSync(join(own, 'part'), 'x');
      return Promise.resolve();
    });
    expect(readdirSync(folder)).toEqual(['fetch-recent']);
  });
});
