/**
 * `waybill actions repin`, `waybill routes open` and `unknown`, `waybill quotas`. Real: the command's
 * process, socket, server, Postgres. The host of the catalog refuses connections.
 */
import { QuotaPage } from '../../src/schemas/api-quotas';
import { AttemptPage, RepinAnswer } from '../../src/schemas/api-route-operations';
import { ACTIONS_OPERATE, ACTIONS_READ, Harness } from '../http/harness';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { environmentOf, failureOf, removeHomes, waybill, type Environment } from './waybill';

let h: Harness;
let env: Environment;
beforeAll(async () => {
  h = await Harness.start();
  const rig = new Rig(postgresFixture(h.db));
  await rig.account({ quota: 'two' });
  await rig.fixture.change({ quota: { id: 'two', limits: { tenant: 2, global: 50 } } });
  await rig.host({ replica: 'host-1' });
  const did = 'did:key:z6MkiaMbhXHNA4eJVCCj8dbzKzTgYDKf6crKgHVHid1F1WCT';
  await h.db.rows('update waybill.replicas set peer_did = $1', [did]);
  await rig.run('pinned', 'not_started');
  const { reservation } = await rig.reserved('lost');
  await h.db.rows(`update waybill.actions set state = 'dispatching' where action_id = 'lost'`);
  await rig.settle('lost', reservation.fence, 'outcome_unknown');
  await rig.reserved('held-1');
  await rig.reserved('held-2');
  env = await environmentOf(h, ACTIONS_READ, ACTIONS_OPERATE);
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

test('actions repin moves an action, or says why it stays', async () => {
  const args = ['actions', 'repin', 'pinned', '--reason', 'its host is gone'];
  const first = await waybill(args, env);
  expect(first).toMatchObject({ code: 0 });
  expect(first.stdout).toBe('pinned was taken from its host; its next reservation chooses anew\n');
  const again = await waybill([...args, '--json'], env);
  expect(RepinAnswer.parse(JSON.parse(again.stdout)).decision).toBe('already');
  const refused = await waybill(['actions', 'repin', 'held-1', '--reason', 'why not'], env);
  expect(failureOf(refused)).toMatchObject({ code: 'repin_refused' });
  expect(refused.stderr).toContain('a reservation of it is open');
  const { stdout } = await waybill(['routes', 'show', 'pinned'], env);
  expect(stdout).toMatch(/^TAKEN BACK$/m);
  expect(stdout).toMatch(/host-1 .*its host is gone/);
});

test('routes open and unknown list attempts by age', async () => {
  const open = await waybill(['routes', 'open'], env);
  expect(open.stdout).toMatch(/^SINCE +ACTION +STATE +REPLICA +CAPABILITY +TRIES +OPEN UNTIL$/m);
  expect(open.stdout).toMatch(/held-1 +reserved +host-1[^]*held-2 +reserved +host-1/);
  const unknown = await waybill(['routes', 'unknown'], env);
  expect(unknown.stdout).toMatch(/lost +unknown +host-1 .* host$/m);
  const page = (await waybill(['routes', 'open', '--limit', '1', '--json'], env)).stdout;
  expect(AttemptPage.parse(JSON.parse(page)).attempts).toHaveLength(1);
});

test('quotas says what is full, and who holds it', async () => {
  const { stdout } = await waybill(['quotas'], env);
  expect(stdout).toMatch(/^SCOPE +INSTANCE +CAPABILITY +HELD +FULL +HELD THE LONGEST BY$/m);
  expect(stdout).toMatch(/^tenant +- +- +2\/2 +yes +held-1 \(.*\) held-2 \(.*\)$/m);
  expect(stdout).toMatch(/^shared by all tenants: global not full$/m);
  const full = (await waybill(['quotas', '--full', '--json'], env)).stdout;
  expect(QuotaPage.parse(JSON.parse(full)).scopes).toMatchObject([{ scope: 'tenant', full: true }]);
});
