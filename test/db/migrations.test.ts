/**
 * The migration runner and the start-up checks against empty databases of a real Postgres. Broken
 * migrations are planted in copies of the folder.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkDatabase, migrate, SUPPORTED_SCHEMA } from '../../src/db/migrations';
import type { DatabaseOptions, DatabaseRole } from '../../src/db/database';
import { asAdmin, databaseUrl } from '../support/template';
import { required, testPool } from '../support/test-database';

const FOLDER = path.join(__dirname, '..', '..', 'migrations');
const NEWEST = SUPPORTED_SCHEMA.max;

const server = () => required('WAYBILL_TEST_DATABASE_URL');
let name: string;
let url: string;
let folder: string;

beforeEach(async () => {
  name = `waybill_empty_${randomBytes(6).toString('hex')}`;
  url = databaseUrl(server(), name);
  folder = await mkdtemp(path.join(tmpdir(), 'waybill-migrations-'));
  await cp(FOLDER, folder, { recursive: true });
  await asAdmin(server(), (client) => client.query(`create database ${name}`));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
  await asAdmin(server(), (client) => client.query(`drop database ${name} with (force)`));
});

async function rows(text: string): Promise<unknown[]> {
  return (await asAdmin(url, (client) => client.query<Record<string, unknown>>(text))).rows;
}

const plant = (sql: string) =>
  writeFile(path.join(folder, `${String(NEWEST + 1).padStart(3, '0')}.do.planted.sql`), sql);

describe('migrating', () => {
  test('applies every file in order, and the second time nothing', async () => {
    const files = (await readdir(FOLDER)).filter((file) => /^\d/.test(file)).sort();
    const applied = await migrate(url);
    expect(applied.map(({ version }) => version)).toEqual(files.map((_, index) => index + 1));
    expect(await migrate(url)).toEqual([]);
  });

  test('two migrators at once are both fine, and each migration is applied once', async () => {
    const both = await Promise.all([migrate(url), migrate(url)]);
    expect(both.map((applied) => applied.length).sort()).toEqual([0, NEWEST]);
  });

  test('everything belongs to the owner role, also what the administrator began', async () => {
    await migrate(url);
    const foreign = await rows(
      `select relname from pg_class where relnamespace = 'waybill'::regnamespace
          and relowner <> 'waybill_owner'::regrole
        union all select proname from pg_proc where pronamespace = 'waybill'::regnamespace
          and proowner <> 'waybill_owner'::regrole`,
    );
    expect(foreign).toEqual([]);
  });

  test('a migration that fails takes the whole run back and is named', async () => {
    await plant('create table waybill.planted (id integer); select 1 / 0;');
    await expect(migrate(url, folder)).rejects.toMatchObject({
      code: 'migration_failed',
      message: expect.stringMatching(/^\d+\.do\.planted\.sql: division by zero/) as string,
    });
    expect(await rows(`select from pg_namespace where nspname = 'waybill'`)).toEqual([]);
  });

  test('a migration that fails on top of others leaves those as they were', async () => {
    await migrate(url);
    await plant('create table waybill.planted (id integer); select 1 / 0;');
    await expect(migrate(url, folder)).rejects.toMatchObject({ code: 'migration_failed' });
    expect(await rows(`select to_regclass('waybill.planted') as planted`)).toEqual([
      { planted: null },
    ]);
    expect(await migrate(url)).toEqual([]);
  });

  test('a new migration on top of others is applied alone', async () => {
    await migrate(url);
    await plant('create table waybill.planted (id integer);');
    expect(await migrate(url, folder)).toEqual([{ version: NEWEST + 1, name: 'planted' }]);
  });

  test('a file that was edited after it was applied is refused by name', async () => {
    await migrate(url);
    const [edited] = (await readdir(folder)).filter((file) => file.startsWith('003'));
    await appendFile(path.join(folder, edited ?? ''), '-- edited\n');
    await expect(migrate(url, folder)).rejects.toMatchObject({
      code: 'migration_failed',
      message: expect.stringMatching(/^003\..*checksum/) as string,
    });
  });

  test('an older build leaves a newer schema alone', async () => {
    await plant('create table waybill.planted (id integer);');
    await migrate(url, folder);
    expect(await migrate(url)).toEqual([]);
    expect(await rows('select from waybill.planted')).toEqual([]);
  });

  test('a server that does not answer is storage_unavailable', async () => {
    const nobody = new URL(url);
    nobody.port = '1';
    await expect(migrate(nobody.toString())).rejects.toMatchObject({ code: 'storage_unavailable' });
  });
});

describe('the check at start', () => {
  async function checkAs(
    role: DatabaseOptions['role'],
    wanted: DatabaseRole = role ?? 'waybill_data',
    at = url,
  ): Promise<void> {
    const pool = testPool(at, 'waybill_data', { role });
    await checkDatabase(pool, wanted).finally(() => pool.close());
  }

  test('lets a role of Waybill pass on the schema of this build', async () => {
    await migrate(url);
    for (const role of ['waybill_data', 'waybill_control', 'waybill_observer'] as const) {
      await checkAs(role);
    }
  });

  test('refuses a role that is another one than the pool is for', async () => {
    await migrate(url);
    await expect(checkAs('waybill_observer', 'waybill_data')).rejects.toMatchObject({
      code: 'role_wrong',
    });
  });

  test('tells a login without rights from a schema that is not there', async () => {
    await migrate(url);
    const stranger = `waybill_stranger_${randomBytes(6).toString('hex')}`;
    await rows(`create role ${stranger}`);
    const theirs = new URL(url);
    theirs.searchParams.set('options', `-c role=${stranger}`);
    try {
      await expect(checkAs(null, 'waybill_data', theirs.toString())).rejects.toMatchObject({
        code: 'role_wrong',
        message: expect.stringMatching(/waybill_data \(permission denied .*\): give the/) as string,
      });
    } finally {
      await rows(`drop role ${stranger}`);
    }
  });

  test.each(['waybill_operations', 'waybill_owner'])(
    'refuses a login that is a member of %s, too: it would see the rows of both',
    async (other) => {
      await migrate(url);
      const login = `waybill_both_${randomBytes(6).toString('hex')}`;
      await rows(`create role ${login} in role waybill_data, ${other}`);
      const theirs = new URL(url);
      theirs.searchParams.set('options', `-c role=${login}`);
      try {
        await expect(checkAs(null, 'waybill_data', theirs.toString())).rejects.toMatchObject({
          code: 'role_wrong',
          message: expect.stringContaining(`also a member of ${other}`) as string,
        });
      } finally {
        await rows(`drop role ${login}`);
      }
    },
  );

  test('start-up options of the URL do not take the role away', async () => {
    await migrate(url);
    const bringing = new URL(url);
    bringing.searchParams.set('options', '-c work_mem=8MB');
    await checkAs('waybill_data', 'waybill_data', bringing.toString());
  });

  test.each([
    ['older', `delete from waybill.schema_version where version = ${NEWEST}`, NEWEST - 1],
    [
      'newer',
      `insert into waybill.schema_version values (${NEWEST + 1}, 'next', '', now())`,
      NEWEST + 1,
    ],
  ])('refuses a schema that is %s, and says which it wants', async (_name, change, version) => {
    await migrate(url);
    await rows(change);
    await expect(checkAs('waybill_data')).rejects.toMatchObject({
      code: 'schema_unsupported',
      message: expect.stringContaining(
        `has schema version ${version}, this build supports ${SUPPORTED_SCHEMA.min} to ${NEWEST}`,
      ) as string,
    });
  });

  test('refuses a database without the schema', async () => {
    await expect(checkAs('waybill_data')).rejects.toMatchObject({ code: 'schema_unsupported' });
  });

  test('refuses a role that row-level security does not bind', async () => {
    await migrate(url);
    await expect(checkAs(null)).rejects.toMatchObject({ code: 'role_too_powerful' });
  });
});
