/** What loops do across tenants, in a real Postgres as waybill_operations. */
import { claimUnattended, ingestDelivery, rejectDelivery } from '../../src/db/deliveries';
import { forgetExpired } from '../../src/db/delivery-retention';
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import {
  failedDelivery,
  receive,
  storedDelivery,
  verifiedRequest,
} from '../support/stored-deliveries';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
let acme: CatalogFixture;
let globex: CatalogFixture;

beforeEach(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
  globex = await insertCatalog(db, { tenant: 'globex' });
});
afterEach(() => db.drop());

const claim = (limit: number, pushMs = 60_000) =>
  claimUnattended(db.as('waybill_operations'), limit, pushMs);

async function overdue(fixture: CatalogFixture, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    ids.push((await receive(db, fixture, { attendAfterMs: 0 })).deliveryId);
  }
  return ids;
}

describe('claiming deliveries that nobody attends to', () => {
  test('several loops share them, each delivery goes to one, across tenants', async () => {
    const ids = [...(await overdue(acme, 12)), ...(await overdue(globex, 8))];
    const claims = await Promise.all([claim(5), claim(5), claim(5), claim(5), claim(5)]);
    const claimed = claims.flat().map((row) => row.delivery_id);
    expect(claimed.sort()).toEqual(ids.sort());
    expect(await claim(20)).toEqual([]);
  });

  test('what is claimed comes up again after its time, when nobody has moved it on', async () => {
    const [id] = await overdue(acme, 1);
    expect(await claim(1, 0)).toMatchObject([{ delivery_id: id, state: 'Received' }]);
    expect(await claim(1)).toMatchObject([{ delivery_id: id, connector_id: 'github' }]);
    expect(await claim(1)).toEqual([]);
  });

  test('a claim takes no more than its limit, the most overdue first', async () => {
    const [first, second] = await overdue(acme, 3);
    const rows = await claim(2);
    expect(rows.map((row) => row.delivery_id).sort()).toEqual([first, second].sort());
  });

  test('what is not due yet, or settled, is left alone', async () => {
    await receive(db, acme, { attendAfterMs: 60_000 });
    const { ref } = await failedDelivery(db, acme);
    expect(await claim(10)).toEqual([]);
    expect(await storedDelivery(db, ref)).toMatchObject({ state: 'Failed', attend_at: null });
  });

  test('a row that another transaction holds delays nobody', async () => {
    const [held, free] = await overdue(acme, 2);
    await db.as('waybill_operations').transaction(async (run) => {
      const text = 'select from waybill.deliveries where delivery_id = $1 for update';
      await run({ name: 'test_hold', text }, [held]);
      expect(await claim(10)).toMatchObject([{ delivery_id: free }]);
    });
    expect(await claim(10)).toMatchObject([{ delivery_id: held }]);
  });
});

describe('forgetting', () => {
  const count = async (table: string) => {
    const rows = await db.rows<{ n: number }>(
      `select count(*)::integer as n from waybill.${table}`,
    );
    return rows[0]?.n;
  };

  test('takes expired keys and rejected bytes in bounded batches, and nothing younger', async () => {
    for (const fixture of [acme, globex, acme]) {
      await receive(db, fixture);
      const why = { reason: 'signature_mismatch', detail: '' };
      await rejectDelivery(db.as('waybill_data'), verifiedRequest(fixture), why);
    }
    const past = `set expires_at = clock_timestamp() - interval '2 minutes'`;
    await db.rows(`update waybill.dedup_keys ${past}`);
    await db.rows(`update waybill.rejected_payloads ${past}`);
    await receive(db, acme);
    expect(await forgetExpired(db.as('waybill_operations'), 2)).toBe(true);
    expect([await count('dedup_keys'), await count('rejected_payloads')]).toEqual([2, 1]);
    expect(await forgetExpired(db.as('waybill_operations'), 2)).toBe(false);
    expect([await count('dedup_keys'), await count('rejected_payloads')]).toEqual([1, 0]);
    expect(await count('artifacts')).toBe(2);
    expect(await count('deliveries')).toBe(7);
  });

  test('a key that is forgotten is new again', async () => {
    await receive(db, acme, { dedupKey: 'old' });
    await db.rows(
      `update waybill.dedup_keys set expires_at = clock_timestamp() - interval '1 hour'`,
    );
    await forgetExpired(db.as('waybill_operations'), 10);
    const again = verifiedRequest(acme, { dedupKey: 'old' });
    expect(await ingestDelivery(db.as('waybill_data'), again)).toMatchObject({
      outcome: 'accepted',
    });
  });
});
