/** Plans for what is looked up by its key, in tables whose rows nobody has counted yet. */
import { createTestDatabase } from '../support/test-database';

const ID = '01900000-0000-7000-8000-000000000001';

// Plans of functions and foreign keys that are made then are kept until autovacuum comes by.
test('what is looked up by its key is found by that index, and not by another one of the tenant', async () => {
  const db = await createTestDatabase();
  const plan = (from: string) =>
    db.rows(`explain select from waybill.${from} and tenant_id = 't' and delivery_id = '${ID}'`);
  try {
    const found = [
      await plan('deliveries where true'),
      await plan('delivery_attempts where closed_at is null'),
    ].map((rows) => JSON.stringify(rows));
    expect(found).toEqual([
      expect.stringContaining('using deliveries_pkey'),
      expect.stringContaining('using delivery_attempts_one_open'),
    ]);
  } finally {
    await db.drop();
  }
});
