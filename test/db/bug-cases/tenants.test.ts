/**
 * Faults that others have had with several tenants; each test names the fault that it looks for. Real:
 * Postgres, its row-level security, the product's calls as waybill_data. Verdicts come from the rows.
 */
import { requestCancel } from '../../../src/db/action-steps';
import { tenantId } from '../../../src/domain/ids';
import { Rig } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { imbalance } from '../../support/recount';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { testSigner } from '../../support/test-signer';

const EVE = { cancelledBy: 'eve', reason: 'mine now' };

let db: TestDatabase;
let rig: Rig;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  for (const tenant of ['acme', 'globex']) {
    await rig.account({ tenant });
    await rig.host({ tenant, replica: `${tenant}-1` });
  }
});
afterEach(() => db.drop());

const ledger = () =>
  db.rows(
    `select (select jsonb_agg(to_jsonb(a)) from waybill.actions a) as actions,
      (select jsonb_agg(to_jsonb(r)) from waybill.routes r) as routes,
      (select jsonb_agg(to_jsonb(t)) from waybill.route_attempts t) as attempts,
      (select jsonb_agg(to_jsonb(p) order by replica_id) from waybill.replicas p) as replicas`,
  );

test('an action looked up by its id alone: to another tenant it is as unknown as one that never was', async () => {
  const { reservation } = await rig.reserved('mine');
  const before = await ledger();
  const { resolver, operator, ledger: actions } = rig.registry;
  const calls = async (actionId: string) => {
    const ref = { tenantId: tenantId('globex'), actionId };
    const at = { ...ref, fence: reservation.fence };
    const settle = { settlement: 'completed', unknownCause: null, evidence: {} } as const;
    const move = { from: ['reserved'], to: 'dispatching', reason: null, waiting: false } as const;
    const result = { outcome: 'failed', resultSha256: null, errorCode: 'forged' } as const;
    return [
      await resolver.readRoute(ref.tenantId, actionId),
      await resolver.reserveRoute(rig.request(actionId, { tenantId: ref.tenantId, attemptNo: 2 })),
      await resolver.settleRoute({ ...at, ...settle }),
      await resolver.extendReservation(at, 60_000),
      await resolver.recordResult(at, result, {}),
      await resolver.nextFence(ref.tenantId, actionId, null),
      await actions.moveAction({ ...ref, ...move, result: null }),
      await operator.beginRepin(ref, null),
      await operator.concludeRepin(at, { by: 'eve', reason: 'mine now' }, {}),
      await requestCancel(db.as('waybill_data'), ref, EVE, testSigner(ref, {})),
    ];
  };
  expect(await calls('mine')).toEqual(await calls('never-was'));
  expect(await ledger()).toEqual(before);
});

test('keys that are shared by all tenants: one id of two tenants at once is two actions', async () => {
  for (let nth = 0; nth < 5; nth += 1) {
    const id = `k${nth}`;
    const both = await Promise.all(['acme', 'globex'].map((tenant) => rig.start(id, tenant)));
    expect(both.map(({ kind }) => kind)).toEqual(['started', 'started']);
    const routed = await Promise.all(
      ['acme', 'globex'].map((tenant) =>
        rig.registry.resolver.reserveRoute(rig.request(id, { tenantId: tenantId(tenant) })),
      ),
    );
    const hosts = routed.map((one) => (one.kind === 'reserved' ? one.route.replicaId : one.kind));
    expect(hosts).toEqual(['acme-1', 'globex-1']);
  }
  expect(await imbalance(db)).toEqual([]);
});

test('keys that are shared by all tenants: one conversation key of two tenants pins each to its own', async () => {
  await rig.account({ tenant: 'acme', instance: 'second', priority: 1 });
  await rig.host({ tenant: 'acme', instance: 'second', replica: 'acme-2' });
  for (const [tenant, instance] of [
    ['acme', 'second'],
    ['globex', 'main'],
  ] as const) {
    const asked = { tenantId: tenantId(tenant), affinityKey: 'thread-1' };
    for (const action of ['a1', 'a2']) {
      expect((await rig.reserved(action, asked)).route.instanceId).toBe(instance);
    }
  }
});

test('a full quota of one tenant is no other tenant’s business', async () => {
  await db.rows(
    `insert into waybill.quota_policies (quota_policy_id, tenant_limit) values ('t', 1)`,
  );
  await db.rows(`update waybill.bindings set quota_policy_id = 't'`);
  await rig.reserved('a1');
  expect(await rig.reserve('a2')).toMatchObject({ kind: 'capacity_exceeded', scope: 'tenant' });
  await rig.reserved('a2', { tenantId: tenantId('globex') });
});

/** A word that no row may hold. */
const PLANTED = 'planted-7c1e5f';

test('a secret in what an attempt leaves: no column outside of the payload and the evidence holds it', async () => {
  const { reservation } = await rig.reserved(`a1`);
  const { resolver } = rig.registry;
  const at = { tenantId: tenantId('acme'), actionId: 'a1', fence: reservation.fence };
  await resolver.settleRoute({
    ...{ ...at, settlement: 'outcome_unknown', unknownCause: 'host' },
    evidence: { note: `it said ${PLANTED}` },
  });
  const tables = await db.rows<{ name: string }>(
    `select relname as name from pg_class
      where relnamespace = 'waybill'::regnamespace and relkind = 'r'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const text = `select from waybill.${name} x where to_jsonb(x)::text like $1`;
    if ((await db.rows(text, [`%${PLANTED}%`])).length > 0) found.push(name);
  }
  expect(found).toEqual(['route_attempts']);
});
