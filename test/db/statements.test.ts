/** Every named statement of src/db against the migrated schema of a real Postgres. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

const FOLDER = path.join(__dirname, '..', '..', 'src', 'db');
const Statements = z.record(z.string(), z.object({ name: z.string(), text: z.string() }));

/** `[file, name, text]` of every statement in an exported `…Statements` object. */
function namedStatements(): [string, string, string][] {
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const exported = z
        .record(z.string(), z.unknown())
        .parse(jest.requireActual(path.join(FOLDER, file)));
      return Object.entries(exported)
        .filter(([name]) => name.endsWith('Statements'))
        .flatMap(([, statements]) => Object.values(Statements.parse(statements)))
        .map(({ name, text }): [string, string, string] => [file, name, text]);
    });
}

const statements = namedStatements();
let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

test.each(statements)('%s: %s prepares', async (_file, name, text) => {
  await db.rows(`prepare ${name} as ${text}`);
});

test('no two statements share a name, and Postgres keeps each name whole', () => {
  const names = statements.map(([, name]) => name);
  expect(names).toHaveLength(new Set(names).size);
  expect(names.filter((name) => name.length > 63)).toEqual([]);
});

test('no module of src/db has a statement outside of such an object', () => {
  const seen = new Set(statements.map(([file]) => file));
  const others = readdirSync(FOLDER).filter((file) => !seen.has(file));
  expect(others.sort()).toEqual(['database.ts', 'receipted.ts', 'sqlstates.ts']);
});
