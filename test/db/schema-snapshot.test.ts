/** docs/schema.sql shows what the migrations build, so that a review sees what a migration changes. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { SchemaLine } from '../support/schema-snapshot';
import { schemaSnapshot } from '../support/schema-snapshot';
import { createTestDatabase } from '../support/test-database';

const FILE = path.join(__dirname, '..', '..', 'docs', 'schema.sql');

test('docs/schema.sql is the schema that the migrations build', async () => {
  const db = await createTestDatabase();
  const built = await schemaSnapshot((text) => db.rows<SchemaLine & object>(text)).finally(() =>
    db.drop(),
  );
  if (process.env['UPDATE_SNAPSHOT'] === '1') await writeFile(FILE, built);
  expect(built).toBe(await readFile(FILE, 'utf8'));
});
