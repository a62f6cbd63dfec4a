/** `waybill routes` and `waybill fleet`. Real: the command's process, socket, server, Postgres. */
import { TenantFleet } from '../../src/schemas/api-fleet';
import { RouteDetail, RoutePage } from '../../src/schemas/api-routes';
import { ACTIONS_READ, Harness } from '../http/harness';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { environmentOf, failureOf, removeHomes, waybill, type Environment } from './waybill';

let h: Harness;
let env: Environment;
beforeAll(async () => {
  h = await Harness.start();
  const rig = new Rig(postgresFixture(h.db));
  await rig.account();
  await rig.host({ replica: 'host-1', capacity: 4 });
  await rig.run('done', 'not_started');
  await rig.reserved('held');
  await rig.provision({ replica: 'host-2' });
  env = await environmentOf(h, ACTIONS_READ, 'factory.fleet.read');
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

test('routes list shows where actions went, as a table and as JSON', async () => {
  const { code, stdout } = await waybill(['routes', 'list'], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^ACTION +INSTANCE +REPLICA +CAPABILITY +ASSIGNED +TRIES +OPEN UNTIL$/m);
  expect(stdout).toMatch(/^held +main +host-1 .* 1 +\d{4}-\S+Z$/m);
  expect(stdout).toMatch(/^done +main +host-1 .* 1 +-$/m);
  const args = ['routes', 'list', '--open', '--replica', 'host-1', '--json'];
  const open = RoutePage.parse(JSON.parse((await waybill(args, env)).stdout));
  expect(open.routes.map(({ actionId }) => actionId)).toEqual(['held']);
  const none = await waybill(['routes', 'list', '--instance', 'other'], env);
  expect(none.stdout).toBe('no route matches\n');
  const first = await waybill(['routes', 'list', '--limit', '1'], env);
  expect(first.stdout).toMatch(/more: the same command with --cursor \S+\n$/);
});

test('routes show is a page of the assignment and its attempts', async () => {
  const { stdout } = await waybill(['routes', 'show', 'done'], env);
  expect(stdout).toMatch(/^action +done$/m);
  expect(stdout).toMatch(/^ +replica +host-1 at http:\/\/127\.0\.0\.1:1$/m);
  expect(stdout).toMatch(/not_started +host-1\/1 .*not_started of done/);
  const json = (await waybill(['routes', 'show', 'held', '--json'], env)).stdout;
  expect(RouteDetail.parse(JSON.parse(json)).attempts).toMatchObject([{ settlement: null }]);
  expect(failureOf(await waybill(['routes', 'show', 'nothing'], env)).code).toBe('not_found');
});

test('fleet status shows the replicas, their load and the figures of all', async () => {
  const { code, stdout } = await waybill(['fleet', 'status'], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^replicas: 1 ready, 1 offline; 1 of 4 places taken; open attempts: 1; circuits not closed: 0$/m,
  );
  expect(stdout).toMatch(/^REPLICA +INSTANCE +VERSION +STATUS +LOAD +CIRCUIT +LEASE ENDS/m);
  expect(stdout).toMatch(/^host-1 +main +1\.0\.0 +ready +1\/4 +closed +\d{4}-\S+Z +1$/m);
  expect(stdout).toMatch(/^host-2 +main +1\.0\.0 +offline +0\/10 +closed +- +0$/m);
  const offline = (await waybill(['fleet', 'status', '--status', 'offline'], env)).stdout;
  expect(offline).toMatch(/^replicas: 1 ready, 1 offline; [^]*^host-2 /m);
  expect(offline).not.toMatch(/^host-1/m);
  const json = (await waybill(['fleet', 'status', '--json'], env)).stdout;
  expect(TenantFleet.parse(JSON.parse(json)).replicas).toHaveLength(2);
});

test('the fleet is told to whom may read it only', async () => {
  const other = { ...env, WAYBILL_TOKEN: await h.token({ scopes: [ACTIONS_READ] }) };
  expect(failureOf(await waybill(['fleet', 'status'], other)).code).toBe('scope_missing');
});
