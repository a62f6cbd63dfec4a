/** package.json: exact versions, and no version by accident. */
import { z } from 'zod';
import { read } from './repository';

const Versions = z.record(z.string(), z.string());
const Manifest = z.object({
  dependencies: Versions,
  devDependencies: Versions,
  allowScripts: z.record(z.string(), z.boolean()),
});
const Lock = z.object({
  packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })),
});

const manifest = Manifest.parse(JSON.parse(read('package.json')));
const lock = Lock.parse(JSON.parse(read('package-lock.json')));
const EXACT = /^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$/;

test('every dependency has an exact version', () => {
  const all = { ...manifest.dependencies, ...manifest.devDependencies };
  expect(Object.entries(all).filter(([, version]) => !EXACT.test(version))).toEqual([]);
});

test('the lock file holds the versions of package.json', () => {
  const all = { ...manifest.dependencies, ...manifest.devDependencies };
  const other = Object.entries(all).filter(
    ([name, version]) => lock.packages[`node_modules/${name}`]?.version !== version,
  );
  expect(other).toEqual([]);
});

test('a package that may run a script at its installation is in the lock file', () => {
  const unknown = Object.keys(manifest.allowScripts).filter((entry) => {
    const [, name = '', version] = /^(.+)@([^@]+)$/.exec(entry) ?? [];
    return lock.packages[`node_modules/${name}`]?.version !== version;
  });
  expect(unknown).toEqual([]);
});
