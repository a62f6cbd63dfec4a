/**
 * Retention of bulk replays in a real Postgres, as the roles of the product. Only time is moved by the
 * administrator, and the statements are made up.
 */
import { concludeBulkReplay } from '../../src/db/bulk-replays';
import { retainBulkReplays } from '../../src/db/bulk-replay-retention';
import type { BulkReplayRef } from '../../src/domain/bulk-replays';
import { retainReplays } from '../../src/services/bulk-replay-retention';
import {
  failedInOneGo,
  moveJob,
  ownTenant,
  plannedJob,
  runningJob,
  storedJob,
} from '../support/bulk-replays';
import type { CatalogFixture } from '../support/catalog-fixture';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let db: TestDatabase;
let acme: CatalogFixture;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  acme = await ownTenant(db);
});
afterEach(async () => {
  for (const table of ['items', 'scopes', 'jobs']) {
    await db.rows(`delete from waybill.replay_${table}`);
  }
});

const operations = () => db.as('waybill_operations');
const retain = () => retainReplays(operations(), new AbortController().signal);

/** A job over so many deliveries that ended so many days ago. */
async function ended(days: number, fixture = acme): Promise<BulkReplayRef> {
  const job = await plannedJob(db, fixture);
  await moveJob(db, job, 'cancel');
  await concludeBulkReplay(db.as('waybill_data'), job, {}, 'jws');
  await elapse(days, job);
  return job;
}

async function elapse(days: number, job: BulkReplayRef): Promise<void> {
  await db.rows(
    `update waybill.replay_jobs set finished_at = finished_at - make_interval(days => $2),
        created_at = created_at - make_interval(days => $2) where job_id = $1`,
    [job.jobId, days],
  );
}

async function left(): Promise<number[]> {
  const [row] = await db.rows<Record<string, number>>(
    `select (select count(*) from waybill.replay_jobs)::int as jobs,
        (select count(*) from waybill.replay_items)::int as items,
        (select count(*) from waybill.replay_scopes)::int as scopes`,
  );
  return [row?.['jobs'] ?? -1, row?.['items'] ?? -1, row?.['scopes'] ?? -1];
}

test('what was planned goes first, then the job with its statement', async () => {
  await failedInOneGo(db, acme, 3);
  const job = await ended(89);
  expect(await retain()).toEqual({ replayItems: 0, replays: 0, more: false });
  await elapse(2, job);
  expect(await retain()).toEqual({ replayItems: 3, replays: 0, more: false });
  expect(await left()).toEqual([1, 0, 0]);
  expect(await storedJob(db, job)).toMatchObject({ planned: 3, left: 3, receipt: 'jws' });
  await elapse(308, job);
  expect(await retain()).toMatchObject({ replays: 0 });
  await elapse(2, job);
  expect(await retain()).toEqual({ replayItems: 0, replays: 1, more: false });
  expect(await left()).toEqual([0, 0, 0]);
});

test('what is not over, or not signed yet, never goes', async () => {
  await failedInOneGo(db, acme, 2);
  const cancelled = await plannedJob(db, acme);
  await moveJob(db, cancelled, 'cancel');
  await plannedJob(db, acme);
  const paused = await runningJob(db, acme);
  await moveJob(db, paused, 'pause');
  await runningJob(db, acme);
  await db.rows(`update waybill.replay_jobs set created_at = now() - interval '9 years',
    finished_at = finished_at - interval '9 years'`);
  expect(await retain()).toEqual({ replayItems: 0, replays: 0, more: false });
  expect(await left()).toEqual([4, 8, 4]);
});

test('each batch is bounded, also for several at once', async () => {
  await failedInOneGo(db, acme, 25);
  await ended(91);
  await ended(92);
  const batch = { tenant: acme.tenant, limit: 10 };
  expect(await retainBulkReplays(operations(), batch)).toEqual({ items: 10, jobs: 0, more: true });
  expect(await left()).toEqual([2, 40, 2]);
  const rounds = await Promise.all(
    [1, 2, 3].map(async () => {
      let items = 0;
      for (let more = true; more;) {
        const gone = await retainBulkReplays(operations(), batch);
        expect(gone.items).toBeLessThanOrEqual(10);
        items += gone.items;
        ({ more } = gone);
      }
      return items;
    }),
  );
  expect(rounds.reduce((sum, items) => sum + items, 0)).toBe(40);
  expect(await left()).toEqual([2, 0, 0]);
});

test('a tenant may have other times, and one without deliveries is not passed over', async () => {
  const umbrella = await ownTenant(db);
  await db.rows(
    `update waybill.settings set retention = jsonb_set(retention, '{tenants}', $1::jsonb)`,
    [JSON.stringify({ [umbrella.tenant]: { failedDays: 2, receiptDays: 3 } })],
  );
  await ended(4, umbrella);
  await ended(4);
  expect(await retain()).toEqual({ replayItems: 0, replays: 1, more: false });
  expect(await db.rows('select tenant_id from waybill.replay_jobs')).toEqual([
    { tenant_id: acme.tenant },
  ]);
});
