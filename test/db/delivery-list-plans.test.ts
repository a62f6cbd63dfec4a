/**
 * A page of deliveries reads about as much as it shows, however many there are. Real: Postgres, row
 * security, indexes. One real delivery of each tenant is multiplied by an administrator; what is looked
 * for is rare and old. Asserted: rows, and blocks read for the page.
 */
import { deliveryListStatements } from '../../src/db/delivery-lists';
import { figureStatements } from '../../src/db/deployment-figures';
import { insertCatalog } from '../support/catalog-fixture';
import { explain } from '../support/explaining';
import { rowsWithin } from '../support/many-actions';
import { multiply } from '../support/multiplied';
import { receive } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const LIMIT = 51;
/** Rows lie apart in the table, at a block each; reading them all takes thousands. */
const MOST_BLOCKS = 300;
const COUNTS = { acme: 30_000, rival: 30_000 } as const;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  for (const [tenant, count] of Object.entries(COUNTS)) {
    await receive(db, await insertCatalog(db, { tenant }), { externalId: 'real' });
    await multiplyReal(tenant, count);
  }
  await db.rows('vacuum analyze waybill.deliveries');
}, 120_000);
afterAll(() => db.drop());

/**
 * Copies, a second apart. Of the oldest, each of these counts is a band of its own: failed, rejected,
 * under way, of a rare connector, of a rare subscription; the others are acknowledged.
 */
async function multiplyReal(tenant: string, count: number): Promise<void> {
  await multiply(db, 'waybill.deliveries', {
    which: `x.tenant_id = '${tenant}' and x.external_id = 'real'`,
    count,
    changed: {
      delivery_id: `'00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0')`,
      received_at: `timestamptz '2026-01-01Z' + n * interval '1 second'`,
      external_id: `'v-' || n`,
      event_type: `case when n < 40 then 'rare' else 'push' end`,
      connector_id: `case when n between 20 and 24 then 'rare' else 'github' end`,
      subscription_id: `case when n between 25 and 31 then 'rare' else 'pushes' end`,
      state: `case when n < 10 then 'Failed' when n < 15 then 'Rejected' when n < 18 then 'Replayed'
        else 'Acknowledged' end`,
      reason: `case when n < 4 then 'timed_out' when n < 10 then 'status_refused'
        when n < 15 then 'signature_mismatch' end`,
      settled_at: `case when n not between 15 and 17 then timestamptz '2026-02-01Z' end`,
      attend_at: `case when n between 15 and 17 then timestamptz '2026-02-01Z' end`,
    },
  });
  await db.rows('delete from waybill.deliveries where external_id = $1', ['real']);
}

const FILTERS = [
  ...(['direction', 'connector', 'subscription', 'state', 'from', 'until'] as const),
  ...(['externalId', 'reason', 'event', 'at', 'id'] as const),
];
type Wanted = Partial<Record<(typeof FILTERS)[number], string>>;

test.each<[string, number, Wanted]>([
  ['everything', LIMIT, {}],
  ['a later page', LIMIT, { at: '2026-01-01T04:00:00Z', id: uuid(14_400) }],
  ['the last page', 5, { at: '2026-01-01T00:00:05Z', id: uuid(5) }],
  ['a span of time', 10, { from: '2026-01-01T00:00:10Z', until: '2026-01-01T00:00:20Z' }],
  ['direction', LIMIT, { direction: 'inbound' }],
  ['a rare connector', 5, { connector: 'rare' }],
  ['a rare subscription', 7, { subscription: 'rare' }],
  ['a state for people', 10, { state: 'Failed' }],
  ['a state that few are in', 3, { state: 'Replayed' }],
  ['a state that none is in', 0, { state: 'Dispatched' }],
  ['a common state', LIMIT, { state: 'Acknowledged' }],
  ['a reason', 4, { reason: 'timed_out' }],
  ['a reason that is not there', 0, { reason: 'redirected' }],
  ["the vendor's id", 1, { externalId: 'v-17' }],
  ['several', 4, { state: 'Failed', reason: 'timed_out', connector: 'github', event: 'rare' }],
])('a page of deliveries by %s is %s rows and few blocks', async (_what, rows, wanted) => {
  const values = FILTERS.map((name) => wanted[name] ?? null);
  const { list } = deliveryListStatements;
  expect(await rowsWithin(db, MOST_BLOCKS, list, ['acme', ...values, LIMIT])).toBe(rows);
});

test('how old the queue is takes few blocks, however many are settled or wait for the loop', async () => {
  await db.rows(
    `update waybill.deliveries set driver = 'loop', lane = 'express', state = 'Received',
        subscription_id = 'quick-' || substr(external_id, 3)::integer % 3, settled_at = null,
        attend_at = received_at
      where tenant_id = 'rival' and external_id ~ '^v-1[0-9]{4}$'`,
  );
  await db.rows('vacuum analyze waybill.deliveries');
  const { text } = figureStatements.backlog;
  const operations = db.as('waybill_operations');
  const { blocks, plan } = await explain((...asked) => operations.query(...asked), text, []);
  expect({ blocks, plan, few: blocks < MOST_BLOCKS }).toMatchObject({ few: true });
  const [row] = await operations.query(figureStatements.backlog, []);
  const [oldest] = await db.rows<{ age: number }>(
    `select extract(epoch from clock_timestamp() - min(attend_at))::float8 as age
      from waybill.deliveries`,
  );
  expect(Number(row?.['queueAgeS'])).toBeCloseTo(Number(oldest?.age), -1);
});

function uuid(nth: number): string {
  return `00000000-0000-7000-8000-${nth.toString(16).padStart(12, '0')}`;
}
