import { cpSync, existsSync, lstatSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { postgresPackage, runnableBinaries } from '../../../src/workers/embedded/postgres-binaries';
import { runCommand } from '../../../src/workers/embedded/run-command';
import { newFolder, removeFolders } from './fixtures';

afterAll(removeFolders);

interface Link {
  readonly target: string;
}

function links(nativeFolder: string): string[] {
  const listed = JSON.parse(readFileSync(join(nativeFolder, 'pg-symlinks.json'), 'utf8')) as Link[];
  return listed.map((link) => join(nativeFolder, '..', link.target));
}

/** A copy of the installed package, as `npm ci --ignore-scripts` leaves it: without links. */
function packageWithoutLinks(folder: string): string {
  const native = join(folder, 'native');
  cpSync(postgresPackage().nativeFolder, native, { recursive: true, verbatimSymlinks: true });
  for (const link of links(native)) rmSync(link, { force: true });
  return native;
}

describe('the Postgres of the npm package', () => {
  test('missing library links are made where the package lies', async () => {
    const nativeFolder = packageWithoutLinks(newFolder());
    const noCopies = () => {
      throw new Error('no copy is needed');
    };
    const source = { nativeFolder, version: '0' };
    await expect(runnableBinaries(source, undefined, noCopies)).resolves.toBe(nativeFolder);
    for (const link of links(nativeFolder)) expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });

  test('a package that the user of Postgres cannot reach is copied once, readable for all', async () => {
    const hidden = newFolder(0o700);
    const copies = newFolder();
    const source = { nativeFolder: packageWithoutLinks(hidden), version: '0' };
    const nobody = { name: 'nobody', uid: 65534, gid: 65534 };
    const copy = await runnableBinaries(source, nobody, () => copies);
    expect(copy.startsWith(copies)).toBe(true);
    expect(existsSync(join(copy, 'lib', 'libpq.a'))).toBe(false);
    expect(statSync(join(copy, 'bin', 'postgres')).mode & 0o777).toBe(0o755);
    const options = { env: {}, timeoutMs: 10_000 };
    const version = await runCommand(join(copy, 'bin', 'postgres'), ['--version'], options);
    expect(version).toMatchObject({ ok: true });
    const { ino } = statSync(copy);
    await expect(runnableBinaries(source, nobody, () => copies)).resolves.toBe(copy);
    expect(statSync(copy).ino).toBe(ino);
  });
});
