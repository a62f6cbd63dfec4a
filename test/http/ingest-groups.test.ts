/** What arrives at once is stored at once, in a real Postgres as waybill_data. Doubled: nothing. */
import type { VerifiedRequest } from '../../src/db/deliveries';
import { IngestGroups } from '../../src/http/ingest-groups';
import type { CatalogFixture } from '../support/catalog-fixture';
import { insertCatalog } from '../support/catalog-fixture';
import { verifiedRequest } from '../support/stored-deliveries';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
let acme: CatalogFixture;
let groups: IngestGroups;

beforeAll(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
  groups = new IngestGroups(db.as('waybill_data'), { tells: () => false });
});
afterAll(() => db.drop());

const requests = (count: number, changes: Partial<VerifiedRequest> = {}) =>
  Array.from({ length: count }, () => verifiedRequest(acme, changes));

/** How many transactions have stored them. */
async function commits(of: readonly VerifiedRequest[]): Promise<unknown> {
  const [row] = await db.rows(
    `select count(*)::integer as stored, count(distinct xmin::text)::integer as commits
      from waybill.deliveries where delivery_id = any($1)`,
    [of.map(({ deliveryId }) => deliveryId)],
  );
  return row;
}

const all = (of: readonly VerifiedRequest[]) =>
  Promise.allSettled(of.map((request) => groups.ingest(request)));

test('one that comes alone is stored at once, by itself', async () => {
  const alone = requests(1);
  expect(await all(alone)).toMatchObject([{ value: { outcome: 'accepted' } }]);
  expect(await commits(alone)).toEqual({ stored: 1, commits: 1 });
});

test('what comes while others are stored goes together, up to 64 a commit', async () => {
  const many = requests(130);
  const answers = await all(many);
  expect(answers.every(({ status }) => status === 'fulfilled')).toBe(true);
  // One that found nobody before it, 64, 64, and the last one.
  expect(await commits(many)).toEqual({ stored: 130, commits: 4 });
});

test('large ones go in groups of up to 4 MiB', async () => {
  const large = requests(6, { payload: Buffer.alloc(2 * 1024 * 1024, 'x') });
  await all(large);
  expect(await commits(large)).toEqual({ stored: 6, commits: 4 });
});

test('one that cannot be stored fails alone', async () => {
  const good = requests(10);
  const [taken] = good;
  const bad = { ...verifiedRequest(acme), deliveryId: taken?.deliveryId ?? fail() };
  const answers = await all([...good, bad]);
  // Of the two of one id the one that is stored first stays: either may be.
  const ofOneId = [answers[0], answers.at(-1)].map((answer) => answer?.status);
  expect(ofOneId.sort()).toEqual(['fulfilled', 'rejected']);
  expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  expect(await commits(good)).toMatchObject({ stored: 10 });
});

test('tenants do not share a group', async () => {
  const globex = await insertCatalog(db, { tenant: 'globex' });
  const mixed = [...requests(5), ...Array.from({ length: 5 }, () => verifiedRequest(globex))];
  const answers = await all(mixed);
  expect(answers.every(({ status }) => status === 'fulfilled')).toBe(true);
  const rows = await db.rows(
    `select xmin::text from waybill.deliveries where delivery_id = any($1)
      group by 1 having count(distinct tenant_id) > 1`,
    [mixed.map(({ deliveryId }) => deliveryId)],
  );
  expect(rows).toEqual([]);
});

function fail(): never {
  throw new Error('there is one');
}
