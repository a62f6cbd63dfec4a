/** What is pending of a subscription that has ended. Real: Postgres, the product's functions and roles. */
import { claimUnattended, openAttempt } from '../../src/db/deliveries';
import { wakeEnded } from '../../src/db/subscriptions';
import { deliveryId, tenantId } from '../../src/domain/ids';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { receive } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

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
