/**
 * Routes that operators take back, in a real Postgres: what its guard allows nobody, and what happens
 * when several decide at once.
 */
import { routeOperator } from '../../src/db/route-operations';
import { actionTargetResolver } from '../../src/db/routes';
import { tenantId } from '../../src/domain/ids';
import { ANYWHERE, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, testPool, type TestDatabase } from '../support/test-database';
import { testSigner } from '../support/test-signer';

let db: TestDatabase;
let rig: Rig;
beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account();
  await rig.host({ replica: 'h1', capacity: 100 });
});
afterEach(() => db.drop());

const at = (actionId: string) => ({ tenantId: tenantId('acme'), actionId });
const WISH = { by: 'ada', reason: 'moved' };
const keep = `insert into waybill.retired_routes
  select tenant_id, action_id, generation, to_jsonb(r), fence, now(), 'ada', 'moved', '{}'
  from waybill.routes r`;
const NEXT = 'generation = generation + 1, retired_at = null';

describe('a route', () => {
  beforeEach(() => rig.run('a1', 'not_started'));
  const change = (what: string) => db.rows(`update waybill.routes set ${what}`);
  const IMMUTABLE = { code: 'WB002' };

  test('is not retired, nor replaced, before it is kept', async () => {
    await expect(change('retired_at = now()')).rejects.toMatchObject(IMMUTABLE);
    await expect(change(`replica_id = 'h2'`)).rejects.toMatchObject(IMMUTABLE);
    await expect(change(`${NEXT}, fence = fence + 1`)).rejects.toMatchObject(IMMUTABLE);
  });

  test('is not replaced before it is retired, nor with a fence that is no higher', async () => {
    await db.rows(keep);
    const moved = `${NEXT}, replica_id = 'h2'`;
    await expect(change(`${moved}, fence = fence + 1`)).rejects.toMatchObject(IMMUTABLE);
    await change('retired_at = now()');
    await expect(change(moved)).rejects.toMatchObject(IMMUTABLE);
    await expect(change(`retired_at = null`)).rejects.toMatchObject(IMMUTABLE);
    await expect(change(`replica_id = 'h2'`)).rejects.toMatchObject(IMMUTABLE);
    await expect(
      change(`${moved}, fence = fence + 1, capability_id = 'other'`),
    ).rejects.toMatchObject(IMMUTABLE);
    await change(`${moved}, fence = fence + 1`);
  });

  test('that was taken back cannot be rewritten by the product', async () => {
    await db.rows(keep);
    const data = db.as('waybill_data');
    for (const text of [
      `update waybill.retired_routes set reason = ''`,
      'delete from waybill.retired_routes',
    ]) {
      await expect(data.query({ name: '', text }, [])).rejects.toMatchObject({ code: '42501' });
    }
  });
});

test('operators and workflows at once: each action is moved once or reserved, and nothing leaks', async () => {
  await rig.host({ replica: 'h2', capacity: 100 });
  const actions = Array.from({ length: 24 }, (_, nth) => `a${nth}`);
  for (const action of actions) await rig.run(action, 'not_started');
  const pool = testPool(db.url, 'waybill_data', { maxConnections: 24 });
  try {
    const operator = routeOperator(pool, testSigner);
    const resolver = actionTargetResolver(pool, ANYWHERE);
    const move = async (action: string) => {
      const begun = await operator.beginRepin(at(action), null);
      if (begun.kind !== 'seal') return begun.kind;
      return (await operator.concludeRepin({ ...at(action), fence: begun.fence }, WISH, {})).kind;
    };
    const reserve = async (action: string) =>
      (await resolver.reserveRoute(rig.request(action, { attemptNo: 2 }))).kind;
    const done = await Promise.all(
      actions.map((action) => Promise.all([move(action), reserve(action), move(action)])),
    );
    for (const [first, reserved, second] of done) {
      expect(reserved).toBe('reserved');
      expect([first, second].filter((kind) => kind === 'repinned').length).toBeLessThanOrEqual(1);
    }
    const [sums] = await db.rows(
      `select (select sum(active_assignments)::integer from waybill.replicas) as active,
        (select count(*)::integer from waybill.route_attempts where settled_at is null) as open,
        (select count(*)::integer from waybill.routes where retired_at is not null) as dangling,
        (select count(*)::integer from waybill.routes r where generation <> 1 + (select count(*)
          from waybill.retired_routes k where k.action_id = r.action_id)) as unkept,
        (select count(*)::integer from waybill.routes r join waybill.retired_routes k
          using (tenant_id, action_id) where k.fence >= r.fence) as lower`,
    );
    expect(sums).toEqual({ active: 24, open: 24, dangling: 0, unkept: 0, lower: 0 });
  } finally {
    await pool.close();
  }
});
