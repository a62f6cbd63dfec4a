/** What ends at once is closed at once, in a real Postgres as waybill_data. Doubled: nothing. */
import { claimExpress } from '../../src/db/express-deliveries';
import { tenantId } from '../../src/domain/ids';
import { AttemptClosings } from '../../src/services/attempt-closings';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { ACKNOWLEDGED, receipt, receive, retryIn } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let db: TestDatabase;
let acme: CatalogFixture;
let closings: AttemptClosings;
beforeAll(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db, { lane: 'express' });
  closings = new AttemptClosings(db.as('waybill_data'));
});
afterAll(() => db.drop());

async function opened(count: number) {
  await Promise.all(Array.from({ length: count }, () => receive(db, acme)));
  const claimed = await claimExpress(db.as('waybill_data'), tenantId(acme.tenant), {
    ...{ owner: 'loop', limit: count },
    onBroken: () => undefined,
  });
  return claimed.map(({ ref }) => ({ ...ref, attempt: 1 }));
}
const acknowledged = (at: Awaited<ReturnType<typeof opened>>[number]) =>
  closings.close({ at, close: ACKNOWLEDGED, receipt: receipt('acknowledged') });
const commits = async (of: Awaited<ReturnType<typeof opened>>) =>
  db.rows(
    `select count(*)::integer as closed, count(distinct xmin::text)::integer as commits
      from waybill.delivery_attempts where delivery_id = any($1) and closed_at is not null`,
    [of.map(({ deliveryId }) => deliveryId)],
  );

test('the first one is closed at once by itself, and those that come meanwhile together', async () => {
  const all = await opened(12);
  const answers = await Promise.all(all.map(acknowledged));
  expect(answers.map(({ answer }) => answer)).toEqual(all.map(() => 'closed'));
  expect(await commits(all)).toEqual([{ closed: 12, commits: 2 }]);
});

test('each of a group has its own answer', async () => {
  const [first, second, moved, retried, taken] = await opened(5);
  if (!first || !second || !moved || !retried || !taken) throw new Error('five were opened');
  await acknowledged(taken);
  const answers = await Promise.all([
    ...[first, second].map(acknowledged),
    closings.close({
      ...{ at: moved, close: ACKNOWLEDGED },
      receipt: { ...receipt('acknowledged'), seq: 7 },
    }),
    closings.close({ at: retried, close: retryIn(60_000), receipt: null }),
    closings.close({ at: taken, close: retryIn(60_000), receipt: null }),
    closings.close({ at: { ...first, attempt: 9 }, close: retryIn(0), receipt: null }),
  ]);
  expect(answers.map(({ answer }) => answer)).toEqual([
    ...['closed', 'closed', 'chain_moved', 'closed', 'fence_lost', 'unknown_attempt'],
  ]);
});

test('one that cannot be closed fails alone', async () => {
  const all = await opened(6);
  const bad = all[4];
  const answers = await Promise.allSettled(
    all.map((at) =>
      at === bad
        ? closings.close({
            at,
            close: { ...ACKNOWLEDGED, outcome: 'nonsense' as 'acknowledged' },
            receipt: receipt('acknowledged'),
          })
        : acknowledged(at),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(
    all.map((at) => (at === bad ? 'rejected' : 'fulfilled')),
  );
  expect(await commits(all)).toMatchObject([{ closed: 5 }]);
});
