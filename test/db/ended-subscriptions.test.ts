/** What is pending of a subscription that has ended. Real: Postgres, the product's functions and roles. */
import { Client } from 'pg';
import { claimUnattended, closeAttempt, openAttempt } from '../../src/db/deliveries';
import { wakeEnded } from '../../src/db/subscriptions';
import { deliveryId, tenantId } from '../../src/domain/ids';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { askNext } from '../support/next-attempt';
import { open, receive, retryIn } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

let db: TestDatabase;
let pushes: CatalogFixture;
let others: CatalogFixture;
beforeEach(async () => {
  db = await createTestDatabase();
  pushes = await insertCatalog(db, { subscription: 'pushes' });
  others = await insertCatalog(db, { subscription: 'others' });
});
afterEach(() => db.drop());

/** Deliveries that wait for their next attempt, or at a gate, for a long time. */
async function pending(fixture: CatalogFixture, count: number): Promise<string[]> {
  const { subscription } = fixture;
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push((await receive(db, fixture)).deliveryId);
  await db.rows(
    `update waybill.deliveries set attend_at = clock_timestamp() + interval '1 hour',
        gate = 'subscription/' || subscription_id, gated_at = clock_timestamp()
      where subscription_id = $1`,
    [subscription],
  );
  return ids;
}
const wake = (limit = 100) => wakeEnded(db.as('waybill_operations'), limit);
const due = async () => {
  const rows = await claimUnattended(db.as('waybill_operations'), 100, 5_000);
  return rows.map((row) => ({ id: row.delivery_id, wake: row.wake }));
};
const end = () =>
  db.rows(
    `update waybill.subscriptions set state = 'deactivated' where subscription_id = 'pushes'`,
  );

test('is woken in batches, and nothing else is', async () => {
  const ids = await pending(pushes, 3);
  await pending(others, 1);
  expect(await wake()).toBe(0);
  await end();
  expect(await wake(2)).toBe(2);
  expect(await wake(2)).toBe(1);
  expect(await wake(2)).toBe(0);
  const found = await due();
  expect(found.map(({ id }) => id).sort()).toEqual([...ids].sort());
  expect(found.every((one) => one.wake)).toBe(true);
});

describe('what cannot be told at that moment is told later', () => {
  test('where its attempt is under way, and is then to be made again much later', async () => {
    const ref = await receive(db, pushes);
    const { attempt } = (await open(db, ref)).info;
    await end();
    expect(await wake()).toBe(0);
    const at = { ...ref, attempt };
    await closeAttempt(db.as('waybill_data'), at, retryIn(3_600_000), null);
    expect(await wake()).toBe(1);
    expect(await due()).toEqual([{ id: ref.deliveryId, wake: true }]);
    expect(await wake()).toBe(0);
  });

  test('and not at all where an attempt stays open: that of an action, which tells of its end', async () => {
    const ref = await receive(db, pushes);
    await open(db, ref);
    await end();
    await db.rows(
      `update waybill.deliveries set attend_at = clock_timestamp() + interval '1 hour'`,
    );
    await db.rows(
      `update waybill.delivery_attempts set deadline_at = clock_timestamp() - interval '2 minutes'`,
    );
    expect(await wake()).toBe(0);
    expect(await db.rows('select from waybill.subscriptions where wake_pending')).toEqual([]);
  });

  test('where somebody has its row', async () => {
    const ids = await pending(pushes, 1);
    await end();
    const other = new Client({ connectionString: db.url });
    await other.connect();
    await other.query('begin; select from waybill.deliveries for update');
    expect(await wake()).toBe(0);
    await other.end();
    await until('its row is free', async () => ((await wake()) === 1 ? true : null));
    expect(await due()).toEqual(ids.map((id) => ({ id, wake: true })));
  });
});

test('is claimed by the loop all the same, and is its workflow’s then, to fail', async () => {
  await db.rows(`update waybill.subscriptions set lane = 'express'`);
  const ref = await receive(db, pushes);
  await db.rows(`update waybill.instances set status = 'revoked'`);
  await end();
  const why = { answer: 'must_fail', info: { reason: 'instance_revoked' } };
  expect(await askNext(db, ref)).toMatchObject(why);
  expect(await db.rows(`select driver, attempts from waybill.deliveries`)).toEqual([
    { driver: 'workflow', attempts: 0 },
  ]);
  expect(await openAttempt(db.as('waybill_data'), ref, 'workflow')).toMatchObject(why);
});

test('fails for the revoked instance, which is why the subscription ended', async () => {
  const [id = ''] = await pending(pushes, 1);
  await db.rows(`update waybill.instances set status = 'revoked'`);
  await end();
  const ref = { tenantId: tenantId('acme'), deliveryId: deliveryId(id) };
  expect(await openAttempt(db.as('waybill_data'), ref, 'test')).toMatchObject({
    ...{ answer: 'must_fail', info: { reason: 'instance_revoked' } },
  });
});

test('is woken when the connector version of its instance is revoked, and fails for that', async () => {
  const [id = ''] = await pending(pushes, 1);
  const other = await insertCatalog(db, { tenant: 'globex', subscription: 'theirs' });
  const [theirs = ''] = await pending(other, 1);
  await db.rows(`update waybill.connector_versions set status = 'deprecated'`);
  expect(await wake()).toBe(0);
  await db.rows(`update waybill.connector_versions set status = 'revoked'`);
  expect(await wake(1)).toBe(1);
  expect(await wake()).toBe(1);
  expect(await wake()).toBe(0);
  expect((await due()).map((one) => one.id).sort()).toEqual([id, theirs].sort());
  const ref = { tenantId: tenantId('acme'), deliveryId: deliveryId(id) };
  expect(await openAttempt(db.as('waybill_data'), ref, 'test')).toMatchObject({
    ...{ answer: 'must_fail', info: { reason: 'connector_revoked' } },
  });
});
