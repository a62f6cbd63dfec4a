/**
 * The share of one tenant in what is under way over HTTP, in a real Postgres, as the roles that use it.
 * Targets are not called here; outcomes are given.
 */
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import type { Lane } from '../../src/domain/lanes';
import { insertCatalog } from '../support/catalog-fixture';
import { receive } from '../support/stored-deliveries';
import { TargetFlow } from '../support/target-flows';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
let flow: TargetFlow;
let count = 0;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  flow = await TargetFlow.begin(db, `s${count}`);
});

const share = (most: number) =>
  db.rows(`update waybill.settings set tenant_in_flight = $1`, [most]);
afterEach(() => share(75));

/** One delivery at each of so many targets, no two of them the same. */
const spread = async (targets: number, tenant = 'acme', lane: Lane = 'durable') =>
  await Promise.all(
    Array.from({ length: targets }, async (_, at) =>
      receive(db, await insertCatalog(db, { tenant, lane, subscription: `t${count}-${at}` })),
    ),
  );
const answers = (refs: readonly DeliveryRef[]) => Promise.all(refs.map((ref) => flow.why(ref)));

test('a tenant has no more under way at all of its targets than its share, however many begin at once', async () => {
  const before = await underWay();
  await share(before + 3);
  const said = await answers(await spread(9));
  expect(said.filter((one) => one === 'opened')).toHaveLength(3);
  expect(said.filter((one) => one === 'tenant_busy')).toHaveLength(6);
  expect(await underWay()).toBe(before + 3);
  expect(await flow.release()).toBe(0);
});

test('of what waits for the loop no more are claimed than its share; the others are not held', async () => {
  await share((await underWay()) + 3);
  await spread(5, 'acme', 'express');
  const claimed = await flow.claims(9);
  expect(claimed.map(({ opened }) => opened.answer)).toEqual(['opened', 'opened', 'opened']);
  expect(await flow.claims(9)).toEqual([]);
  const [first] = claimed;
  if (first === undefined) throw new Error('three were claimed');
  await flow.ends(first.ref, 1, 'answers');
  expect(await flow.claims(9)).toHaveLength(1);
});

test('a tenant that has used up its share holds up no other one', async () => {
  await share(1);
  await answers(await spread(3));
  expect(await answers(await spread(1, `other${count}`))).toEqual(['opened']);
});

test('a tenant goes on as soon as one of its attempts has ended', async () => {
  await share((await underWay()) + 1);
  const [first, second] = (await spread(2)) as [DeliveryRef, DeliveryRef];
  const no = await flow.begins(first);
  expect(await flow.why(second)).toBe('tenant_busy');
  await flow.ends(first, no, 'answers');
  expect(await flow.release()).toBe(1);
  expect(await flow.why(second)).toBe('opened');
});

test('a tenant has its share back from a worker that was lost, once the deadline is over', async () => {
  await share((await underWay()) + 1);
  const [lost, next] = (await spread(2)) as [DeliveryRef, DeliveryRef];
  await flow.begins(lost);
  expect(await flow.why(next)).toBe('tenant_busy');
  await db.rows(
    `update waybill.delivery_attempts set deadline_at = clock_timestamp()
      where delivery_id = $1`,
    [lost.deliveryId],
  );
  expect(await flow.release()).toBe(1);
  expect(await flow.why(next)).toBe('opened');
});

test('a tenant may have as many actions open as it likes: they take nobody’s room', async () => {
  const refs = await spread(2);
  await db.rows(`update waybill.targets set kind = 'action', config = $2 where target_id like $1`, [
    `t${count}-%`,
    JSON.stringify({ capabilityId: 'x', request: null, affinity: null, timeoutMs: 60_000 }),
  ]);
  await share((await underWay()) + 1);
  expect(await answers(refs)).toEqual(['opened', 'opened']);
  expect(await flow.why(await flow.receive())).toBe('opened');
});

async function underWay(): Promise<number> {
  const [row] = await db.rows<{ count: number }>(
    `select count(*)::integer as count from waybill.delivery_attempts a
      join waybill.targets t using (tenant_id, target_id)
      where a.tenant_id = 'acme' and t.kind = 'http' and a.closed_at is null
        and a.deadline_at > clock_timestamp()`,
  );
  return row?.count ?? 0;
}
