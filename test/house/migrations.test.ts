/** Migrations: numbered without a gap, named, and each says why it is there. */
import { projectFiles, read } from './repository';

const FILE = /^migrations\/(\d{3})\.do\.([a-z][a-z0-9-]*)\.sql$/;
const files = projectFiles('migrations').filter((file) => file !== 'migrations/bootstrap.sql');

test('every file has a number and a name', () => {
  expect(files.filter((file) => !FILE.test(file))).toEqual([]);
});

test('the numbers run from 1 without a gap', () => {
  const numbers = files.map((file) => Number(FILE.exec(file)?.[1]));
  expect(numbers).toEqual(files.map((_, index) => index + 1));
});

test('the first line says why', () => {
  const silent = [...files, 'migrations/bootstrap.sql'].filter(
    (file) => !/^-- [A-Z].{20,}/.test(read(file)),
  );
  expect(silent).toEqual([]);
});
