/**
 * The audit of counters in a real Postgres: what differs is found and mended, and under load nothing is
 * found that is not there.
 */
import { counterDifferences, mendCounters } from '../../src/db/route-upkeep';
import { repairCounters } from '../../src/services/upkeep';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let db: TestDatabase;
let rig: Rig;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account({ quota: 'all' });
  const limits = { binding: 99, instance: 99, connector: 99, tenant_retry: 99, tenant: 99 };
  await rig.fixture.change({ quota: { id: 'all', limits: { ...limits, global: 99 } } });
  await rig.host({ replica: 'h1', capacity: 50 });
  await rig.host({ replica: 'h2', capacity: 50 });
});
afterEach(() => db.drop());

const operations = () => db.as('waybill_operations');
const differences = () => counterDifferences(operations(), 100);

test('as long as the product counts, nothing differs', async () => {
  await rig.reserved('a1');
  await rig.run('a2', 'completed');
  await rig.run('a3', 'outcome_unknown');
  expect(await differences()).toEqual([]);
  expect(await mendCounters(operations(), 'ada', 100)).toEqual([]);
});

test('each kind of counter that is wrong is named, mended once, and put on record', async () => {
  await rig.reserved('a1');
  const [{ replica } = { replica: '' }] = await db.rows<{ replica: string }>(
    'select replica_id as replica from waybill.route_attempts',
  );
  await db.rows(
    `update waybill.replicas set active_assignments = 7, probes = 2
    where replica_id = $1`,
    [replica],
  );
  await db.rows(`update waybill.quota_counters set held = 0 where scope = 'global'`);
  await db.rows(`update waybill.quota_counters set held = 5 where scope = 'tenant'`);
  await db.rows(`delete from waybill.quota_counters where scope = 'binding'`);
  const found = [
    {
      counter: 'active_assignments',
      tenantId: 'acme',
      scope: null,
      subject: replica,
      recorded: 7,
      counted: 1,
    },
    {
      counter: 'held',
      tenantId: 'acme',
      scope: 'binding',
      subject: 'acme/main/tickets.create',
      recorded: 0,
      counted: 1,
    },
    { counter: 'held', tenantId: null, scope: 'global', subject: '*', recorded: 0, counted: 1 },
    {
      counter: 'held',
      tenantId: 'acme',
      scope: 'tenant',
      subject: 'acme',
      recorded: 5,
      counted: 1,
    },
    { counter: 'probes', tenantId: 'acme', scope: null, subject: replica, recorded: 2, counted: 0 },
  ];
  expect(await differences()).toEqual(found);
  const mended = await mendCounters(operations(), 'ada', 100);
  expect(mended).toHaveLength(found.length);
  expect(mended).toEqual(expect.arrayContaining(found));
  expect(await differences()).toEqual([]);
  const audit = await db.rows<{ subject: string }>(
    `select subject from waybill.audit_log where action = 'counter.mend' and actor = 'ada'`,
  );
  expect(audit).toHaveLength(found.length);
  await rig.settle('a1', (await fenceOf('a1')) ?? 0, 'completed');
  expect(await rig.fixture.held()).toEqual({});
  expect(await differences()).toEqual([]);
});

test('no more are found or mended at once than asked for', async () => {
  await rig.reserved('a1');
  await db.rows('update waybill.quota_counters set held = held + 1');
  expect(await counterDifferences(operations(), 2)).toHaveLength(2);
  expect(await mendCounters(operations(), 'ada', 2)).toHaveLength(2);
  expect((await repairCounters(operations(), 'ada')).differences).toHaveLength(3);
  expect(await differences()).toEqual([]);
});

test('under load an audit finds nothing, and a repair beside it mends exactly what was wrong', async () => {
  const actions = Array.from({ length: 60 }, (_, nth) => `a${nth}`);
  await Promise.all(actions.map((id) => rig.start(id)));
  await db.rows('update waybill.quota_counters set held = held + 3');
  await db.rows('update waybill.replicas set active_assignments = active_assignments + 2');
  const lanes = { busy: true };
  const work = Promise.all(
    [0, 1, 2].map(async (lane) => {
      for (const id of actions.filter((_, nth) => nth % 3 === lane)) {
        const { reservation } = await rig.reserved(id);
        await rig.settle(id, reservation.fence, 'completed');
      }
    }),
  ).finally(() => {
    lanes.busy = false;
  });
  const mended = await Promise.all([1, 2].map(() => repairCounters(operations(), 'ada')));
  const audits: unknown[] = [];
  while (lanes.busy) audits.push(...(await differences()));
  await work;
  expect(audits).toEqual([]);
  const total = mended.flatMap((audit) => audit.differences);
  expect(total.filter(({ counter }) => counter === 'active_assignments')).toHaveLength(2);
  expect(await rig.fixture.held()).toEqual({});
  const [left] = await db.rows<{ assigned: number }>(
    'select sum(active_assignments)::integer as assigned from waybill.replicas',
  );
  expect(left).toEqual({ assigned: 0 });
});

async function fenceOf(action: string): Promise<number | undefined> {
  const [row] = await db.rows<{ fence: string }>(
    'select fence from waybill.route_attempts where action_id = $1',
    [action],
  );
  return row === undefined ? undefined : Number(row.fence);
}
