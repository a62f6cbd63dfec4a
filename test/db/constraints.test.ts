/** Invariants that constraints of the real schema restate: whoever writes cannot break them. */
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { failedDelivery, open, receive } from '../support/stored-deliveries';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
let acme: CatalogFixture;

beforeAll(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
});
afterAll(() => db.drop());

const live = async () => (await receive(db, acme)).deliveryId;
const failed = async () => (await failedDelivery(db, acme)).ref.deliveryId;
const dispatched = async () => {
  const ref = await receive(db, acme);
  await open(db, ref);
  return ref.deliveryId;
};

test.each([
  ['a live delivery is not settled', live, 'settled_at = now()', 'deliveries_settled'],
  ['a live delivery is attended to', live, 'attend_at = null', 'deliveries_attended'],
  ['a failed delivery is settled', failed, 'settled_at = null', 'deliveries_settled'],
  ['a failed delivery needs no attention', failed, 'attend_at = now()', 'deliveries_attended'],
  ['a verified delivery has a key', live, 'dedup_key = null', 'deliveries_keyed'],
  [
    'what is no duplicate names no first one',
    live,
    'duplicate_of = delivery_id',
    'deliveries_duplicate',
  ],
])('%s', async (_name, make, change, constraint) => {
  const id = await make();
  const update = db.rows(`update waybill.deliveries set ${change} where delivery_id = $1`, [id]);
  await expect(update).rejects.toMatchObject({ constraint });
});

test('a delivery has at most one open attempt', async () => {
  const id = await dispatched();
  const second = db.rows(
    `insert into waybill.delivery_attempts
      (tenant_id, delivery_id, attempt_no, series, owner, target_id, deadline_at)
      values ('acme', $1, 2, 1, 'other', 'ci', now())`,
    [id],
  );
  await expect(second).rejects.toMatchObject({ constraint: 'delivery_attempts_one_open' });
});

test('an attempt is closed exactly when it has an outcome', async () => {
  const id = await dispatched();
  for (const change of [`outcome = 'refused'`, 'closed_at = now()']) {
    const text = `update waybill.delivery_attempts set ${change} where delivery_id = $1`;
    await expect(db.rows(text, [id])).rejects.toMatchObject({
      constraint: 'delivery_attempts_closed',
    });
  }
});

test('only a paused subscription has a reason for its pause', async () => {
  const text = `update waybill.subscriptions set pause_reason = 'target_gone'`;
  await expect(db.rows(text)).rejects.toMatchObject({ code: '23514' });
});

test('an ingress reference is unique over all tenants', async () => {
  await insertCatalog(db, { tenant: 'globex' });
  const taken = db.rows(
    `update waybill.ingresses set ingress_ref = $1 where tenant_id = 'globex'`,
    [acme.ingressRef],
  );
  await expect(taken).rejects.toMatchObject({ code: '23505' });
});

test('settings and revision are one row each', async () => {
  for (const table of [
    'settings (default_retry) values (null)',
    'catalog_revision (revision) values (1)',
  ]) {
    await expect(db.rows(`insert into waybill.${table}`)).rejects.toMatchObject({
      code: expect.stringMatching(/^23/) as string,
    });
  }
  await expect(
    db.rows(`insert into waybill.settings (only_row, default_retry) values (false, '{}')`),
  ).rejects.toMatchObject({ code: '23514' });
});
