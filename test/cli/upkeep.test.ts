/** `waybill routes audit` and `waybill recover` as a person runs them, on a real database. */
import { z } from 'zod';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, required, type TestDatabase } from '../support/test-database';
import { failureOf, lastFailureOf, newHome, removeHomes, waybill } from './waybill';

let db: TestDatabase;
let rig: Rig;
beforeAll(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account();
  await rig.host({ replica: 'h1' });
});
afterAll(async () => {
  await db.drop();
  removeHomes();
});

const run = (...args: readonly string[]) =>
  waybill(args, {
    DATABASE_URL: db.url,
    WAYBILL_HOME: newHome(),
    TEMPORAL_ADDRESS: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
    WAYBILL_TASK_QUEUE_PREFIX: 'test-upkeep-cli-',
  });
const Status = z.object({ status: z.object({ since: z.string().nullable() }) });

test('an audit that finds nothing says so and ends with 0', async () => {
  expect(await run('routes', 'audit')).toMatchObject({
    ...{ code: 0, stdout: 'every counter is what the open attempts make it\n', stderr: '' },
  });
});

test('an audit that finds something lists it and ends with 1, until it is repaired', async () => {
  await db.rows('update waybill.replicas set active_assignments = 2');
  const found = await run('routes', 'audit');
  expect(failureOf(found)).toEqual({
    ...{ message: '1 counter differs; --repair mends that', code: 'counters_differ' },
  });
  expect(found.stdout).toMatch(/active_assignments +replica +h1 +acme +2 +0\n/);
  const told = await run('routes', 'audit', '--json');
  expect([told.code, JSON.parse(told.stdout)]).toMatchObject([
    1,
    { repaired: false, differences: [{ subject: 'h1', recorded: 2, counted: 0 }] },
  ]);
  const repaired = await run('routes', 'audit', '--repair');
  expect(repaired).toMatchObject({ code: 0, stderr: '' });
  expect(repaired.stdout).toMatch(/\nmended: 1\n$/);
  expect((await run('routes', 'audit')).code).toBe(0);
});

test('a recovery is begun, shown and released; the hosts have to register anew', async () => {
  expect(await run('recover')).toMatchObject({
    ...{ code: 0, stdout: expect.stringMatching(/^not recovering\n/) as string },
  });
  await rig.start('waiting');
  const begun = await run('recover', '--after-restore');
  expect(begun).toMatchObject({ code: 0, stderr: '' });
  expect(begun.stdout).toMatch(/whose route was lost: 1\n/);
  expect(begun.stdout).toMatch(/recovering since .*\nopen actions: needs_operator 1\n/);
  expect(begun.stdout).toMatch(/acme +waiting +route_lost/);
  expect(await rig.registry.reader.replica('h1')).toMatchObject({ status: 'offline' });
  expect(await rig.reserve('next')).toMatchObject({ kind: 'recovering' });
  const shown = Status.parse(JSON.parse((await run('recover', '--json')).stdout));
  expect(shown.status.since).toMatch(/^\d{4}-/);
  expect((await run('recover', '--release')).stdout).toMatch(/^released: /);
  expect(await rig.reserve('next')).toMatchObject({ kind: 'replica_unavailable' });
  expect((await run('recover', '--release')).stdout).toMatch(/^it was not recovering\n/);
});

test('without Temporal no recovery is begun: nothing could be compared', async () => {
  const away = await waybill(['recover', '--after-restore'], {
    ...{ DATABASE_URL: db.url, WAYBILL_HOME: newHome(), TEMPORAL_ADDRESS: '127.0.0.1:1' },
  });
  expect(lastFailureOf(away)).toMatchObject({ code: 'temporal_unreachable' });
  expect((await run('recover')).stdout).toMatch(/^not recovering\n/);
});

test('beginning and releasing at once is refused', async () => {
  expect(await run('recover', '--after-restore', '--release')).toMatchObject({ code: 2 });
});
