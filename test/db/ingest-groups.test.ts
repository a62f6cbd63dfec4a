/** Verified requests that are stored together, in a real Postgres as waybill_data. Doubled: nothing. */
import { ingestDeliveries, ingestDelivery, type VerifiedRequest } from '../../src/db/deliveries';
import type { IngestAnswer } from '../../src/schemas/delivery-rows';
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { verifiedRequest } from '../support/stored-deliveries';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase, testPool } from '../support/test-database';

let db: TestDatabase;
let acme: CatalogFixture;

beforeAll(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
});
afterAll(() => db.drop());

const request = (dedupKey: string, text = dedupKey): VerifiedRequest =>
  verifiedRequest(acme, { dedupKey, payload: Buffer.from(text) });

const together = (...requests: VerifiedRequest[]): Promise<IngestAnswer[]> =>
  ingestDeliveries(db.as('waybill_data'), requests[0]?.tenantId ?? fail(), requests);

function fail(): never {
  throw new Error('a group has one at least');
}

const outcomes = (answers: readonly IngestAnswer[]): string[] =>
  answers.map(({ outcome }) => outcome);

const stored = async (requests: readonly VerifiedRequest[]) => {
  const rows = await db.rows<{ delivery_id: string; text: string }>(
    `select d.delivery_id, convert_from(a.content, 'UTF8') as text from waybill.deliveries d
      join waybill.artifacts a on a.tenant_id = d.tenant_id and a.sha256 = d.payload_sha256
      where d.delivery_id = any($1)`,
    [requests.map(({ deliveryId }) => deliveryId)],
  );
  const texts = new Map(rows.map(({ delivery_id: id, text }) => [id, text]));
  return requests.map(({ deliveryId }) => texts.get(deliveryId) ?? null);
};

test('each has its own bytes, whatever their lengths, and its own answer, in their order', async () => {
  const requests = ['b', '', 'a', 'ccc', 'ü'].map((text, at) => request(`own-${5 - at}`, text));
  const answers = await together(...requests);
  expect(outcomes(answers)).toEqual(Array(5).fill('accepted'));
  expect(answers.map(({ deliveryId }) => deliveryId)).toEqual(
    requests.map(({ deliveryId }) => deliveryId),
  );
  expect(await stored(requests)).toEqual(['b', '', 'a', 'ccc', 'ü']);
});

test('of copies that arrive together the first is the delivery; other bytes are a conflict', async () => {
  const [first, copy, other] = [request('same', 'x'), request('same', 'x'), request('same', 'y')];
  const earlier = request('earlier');
  await ingestDelivery(db.as('waybill_data'), earlier);
  const late = request('earlier');
  const answers = await together(late, first, other, copy);
  expect(answers).toMatchObject([
    { outcome: 'duplicate', firstDeliveryId: earlier.deliveryId },
    { outcome: 'accepted', firstDeliveryId: first.deliveryId },
    { outcome: 'conflict', firstDeliveryId: first.deliveryId },
    { outcome: 'duplicate', firstDeliveryId: first.deliveryId },
  ]);
  const rows = await db.rows(
    `select state, conflict, duplicate_of from waybill.deliveries where dedup_key = 'same'
      order by state desc, conflict`,
  );
  expect(rows).toEqual([
    { state: 'Received', conflict: false, duplicate_of: null },
    { state: 'Deduplicated', conflict: false, duplicate_of: first.deliveryId },
    { state: 'Deduplicated', conflict: true, duplicate_of: first.deliveryId },
  ]);
});

test('each is in the lane of its own subscription, and only what is accepted waits for the loop', async () => {
  const quick = await insertCatalog(db, { subscription: 'quick', lane: 'express' });
  const express = (dedupKey: string) => verifiedRequest(quick, { dedupKey });
  const mixed = [request('lane-1'), express('lane-2'), express('lane-2'), request('lane-3')];
  expect(await together(...mixed)).toMatchObject([
    { outcome: 'accepted', lane: 'durable' },
    { outcome: 'accepted', lane: 'express' },
    { outcome: 'duplicate' },
    { outcome: 'accepted', lane: 'durable' },
  ]);
  const rows = await db.rows(
    `select dedup_key as key, state, lane, driver from waybill.deliveries
      where dedup_key like 'lane-%' order by dedup_key, state desc`,
  );
  expect(rows).toEqual([
    { key: 'lane-1', state: 'Received', lane: 'durable', driver: 'workflow' },
    { key: 'lane-2', state: 'Received', lane: 'express', driver: 'loop' },
    { key: 'lane-2', state: 'Deduplicated', lane: 'express', driver: 'workflow' },
    { key: 'lane-3', state: 'Received', lane: 'durable', driver: 'workflow' },
  ]);
});

test('one that is signed too long ago takes no key from a copy beside it', async () => {
  const signed = { signedAtMs: Date.now() - 400_000, toleranceMs: 300_000, aheadMs: 60_000 };
  const stale = verifiedRequest(acme, { dedupKey: 'stale', freshness: signed });
  const fresh = request('stale');
  expect(outcomes(await together(stale, fresh))).toEqual(['stale', 'accepted']);
  const rows = await db.rows(
    `select d.state, r.content from waybill.deliveries d
      left join waybill.rejected_payloads r using (tenant_id, delivery_id) where d.delivery_id = $1`,
    [stale.deliveryId],
  );
  expect(rows).toEqual([{ state: 'Rejected', content: stale.payload }]);
});

test('one that cannot be stored leaves nothing of the others', async () => {
  const good = request('all-or-none');
  const twice = { ...request('twice'), deliveryId: good.deliveryId };
  await expect(together(good, twice)).rejects.toThrow(/duplicate key/);
  const keys = `select from waybill.dedup_keys where dedup_key in ('all-or-none', 'twice')`;
  expect(await db.rows(keys)).toEqual([]);
  expect(await stored([good])).toEqual([null]);
});

test('groups with the same keys and bytes in opposite orders wait for each other and never in a circle', async () => {
  const wide = testPool(db.url, 'waybill_data', { maxConnections: 8 });
  const texts = Array.from({ length: 20 }, (_, at) => `round-${at}`);
  const groups = Array.from({ length: 24 }, (_, nth) => {
    const order = nth % 2 === 0 ? texts : texts.toReversed();
    // Keys of one and bytes of the other order.
    return order.map((key, at) => request(key, texts.at(at) ?? fail()));
  });
  const before = await deadlocks();
  const answers = await Promise.all(
    groups.map((group) => ingestDeliveries(wide, group[0]?.tenantId ?? fail(), group)),
  );
  await wide.close();
  expect(outcomes(answers.flat()).filter((outcome) => outcome === 'accepted')).toHaveLength(20);
  expect(await deadlocks()).toBe(before);
});

/** A deadlock would be retried, and seen by nobody but the server. */
async function deadlocks(): Promise<unknown> {
  const [row] = await db.rows(
    `select deadlocks::integer as n from pg_stat_database where datname = current_database()`,
  );
  return row?.['n'];
}
