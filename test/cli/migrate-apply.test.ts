/**
 * `waybill migrate` and `waybill apply` on a real database. Real: the processes and Postgres.
 * Asserted: what they print, what is in the database afterwards, and that a mistake applies nothing.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { asAdmin, databaseUrl } from '../support/template';
import { createTestDatabase, required, type TestDatabase } from '../support/test-database';
import { EXAMPLE_FLEET, failureOf, newHome, removeHomes, waybill } from './waybill';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
  removeHomes();
});

const FleetAnswer = z.object({
  revision: z.int(),
  changed: z.boolean(),
  changes: z.array(z.any()),
});
const Mistakes = z.object({
  mistakes: z.array(z.object({ document: z.string(), field: z.string(), line: z.int() })),
});

function apply(file: string, ...more: readonly string[]) {
  return waybill(['apply', '-f', file, ...more], {
    ...{ DATABASE_URL: db.url, WAYBILL_HOME: newHome() },
  });
}

/** The example fleet with one text in the place of another. */
function edited(from: string, to: string): string {
  const file = path.join(newHome(), 'fleet.yaml');
  writeFileSync(file, readFileSync(EXAMPLE_FLEET, 'utf8').replaceAll(from, to));
  return file;
}

async function revision(): Promise<number> {
  const rows = await db.rows<{ revision: string }>('select revision from waybill.catalog_revision');
  return Number(rows[0]?.revision);
}

test('migrate says what it applied, and then that there is nothing to do', async () => {
  const name = `waybill_cli_${randomBytes(6).toString('hex')}`;
  const server = required('WAYBILL_TEST_DATABASE_URL');
  await asAdmin(server, (client) => client.query(`create database ${name}`));
  try {
    const env = { DATABASE_URL: databaseUrl(server, name), WAYBILL_HOME: newHome() };
    const first = await waybill(['migrate'], env);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(/^applied 1 shared\n/);
    const second = await waybill(['migrate'], env);
    expect(second).toMatchObject({ code: 0, stdout: 'nothing to do: the schema is up to date\n' });
    const third = await waybill(['migrate', '--json'], env);
    expect(JSON.parse(third.stdout)).toEqual({ applied: [] });
  } finally {
    await asAdmin(server, (client) => client.query(`drop database ${name} with (force)`));
  }
});

test('apply publishes a fleet once, tells what is new, and changes nothing the second time', async () => {
  const first = await apply(EXAMPLE_FLEET);
  expect(first).toMatchObject({ code: 0, stderr: '' });
  expect(first.stdout).toMatch(/^ACTION +THING +FIELD +CHANGE\n/);
  expect(first.stdout).toMatch(/create +Subscription acme\/pushes +\d+ fields\n/);
  expect(first.stdout).toContain(`\nrevision ${await revision()}\n`);
  const before = await revision();
  const second = await apply(EXAMPLE_FLEET, '--json');
  expect(FleetAnswer.parse(JSON.parse(second.stdout))).toEqual({
    ...{ revision: before, changed: false, changes: [] },
  });
});

test('apply tells each changed field with what it was', async () => {
  await apply(EXAMPLE_FLEET);
  const { stdout } = await apply(edited('timeout: 10s', 'timeout: 9s'));
  expect(stdout).toMatch(/update +Target acme\/ci +http\.timeoutMs +10000 -> 9000\n/);
});

test('a fleet with mistakes: each with its document and field, and nothing is applied', async () => {
  await apply(EXAMPLE_FLEET);
  const before = await revision();
  const file = edited('target: ci', 'target: gone');
  writeFileSync(file, `${readFileSync(file, 'utf8')}---\nkind: Target\ntenant: acme\nid: x\n`);
  const ended = await apply(file);
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/line \d+, Subscription acme\/pushes \(document \d+\): target: /);
  expect(ended.stdout).toMatch(/line \d+, Target acme\/x \(document \d+\): http: /);
  const { message, code } = failureOf(ended);
  expect(code).toBe('fleet_invalid');
  expect(message).toMatch(/^2 mistakes .*nothing was applied$/);
  const asJson = await apply(file, '--json');
  const { mistakes } = Mistakes.parse(JSON.parse(asJson.stdout));
  expect(mistakes.map(({ field }) => field)).toEqual(['target', 'http']);
  expect(await revision()).toBe(before);
});

test('a secret that is empty where it is applied is named, and nothing is applied', async () => {
  const before = await revision();
  const file = edited('env:WAYBILL_EXAMPLE_GITHUB_SECRET', 'env:EMPTY_SECRET');
  const ended = await waybill(['apply', '-f', file], {
    ...{ DATABASE_URL: db.url, WAYBILL_HOME: newHome(), EMPTY_SECRET: '' },
  });
  expect(ended.stdout).toMatch(
    /^line \d+, Subscription .*: ingress\.secrets\[0\]\.ref: env:EMPTY_SECRET, as it is read here: the secret is empty\n/,
  );
  expect(failureOf(ended).code).toBe('fleet_invalid');
  expect(await revision()).toBe(before);
});

test('a schema that was never migrated is refused with the command that helps', async () => {
  const env = { DATABASE_URL: required('WAYBILL_TEST_DATABASE_URL'), WAYBILL_HOME: newHome() };
  const { message, code } = failureOf(await waybill(['apply', '-f', EXAMPLE_FLEET], env));
  expect(code).toBe('schema_unsupported');
  expect(message).toContain('`waybill migrate`');
});
