/** Which events go after their time, and who is told what they have missed. A real Postgres. */
import { Client } from 'pg';
import { forgetEvents, readEvents, sequenceEvents } from '../../src/db/events';
import { tenantId } from '../../src/domain/ids';
import { ageEvents, placesOf, tell } from '../support/outbox';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

const ACME = tenantId('acme');

let db: TestDatabase;
beforeEach(async () => {
  db = await createTestDatabase();
});
afterEach(() => db.drop());

const page = (after: number | null = null) =>
  readEvents(db.as('waybill_data'), { tenantId: ACME, after, topics: null, limit: 100 });

let places: number[];
/** The place of the nth event; 0 is before all. */
const place = (nth: number) => places[nth - 1] ?? 0;
/** Which of them are there, behind a place. */
async function seen(after: number | null = null): Promise<number[]> {
  const answer = await page(after);
  if (answer.answer !== 'page') throw new Error('events have gone');
  return answer.events.map(({ feedNo }) => places.indexOf(feedNo) + 1);
}

describe('what has had its time', () => {
  const forget = (limit = 100) => forgetEvents(db.as('waybill_operations'), limit);

  async function sink(id: string, passed: number, state = 'active'): Promise<void> {
    await db.rows(
      `insert into waybill.event_sinks (tenant_id, sink_id, url, timeout_ms, topics, secret_refs,
          state, passed) values ('acme', $1, 'https://sink.test/', 1000, '{*}', '{env:X}', $2, $3)`,
      [id, state, place(passed)],
    );
  }

  beforeEach(async () => {
    for (let n = 1; n <= 10; n += 1)
      await tell(db, { tenant: 'acme', aggregate: `delivery/${String(n)}` });
    await sequenceEvents(db.as('waybill_operations'), 1_000);
    places = await placesOf(db);
  });

  test('goes once every sink has taken it, in bounded batches, and not before', async () => {
    await sink('ahead', 10);
    await sink('behind', 6);
    expect(await forget()).toEqual({ events: 0, missed: 0 });
    await ageEvents(db, 15);
    expect(await forget(4)).toEqual({ events: 4, missed: 0 });
    expect(await forget()).toEqual({ events: 2, missed: 0 });
    expect(await forget()).toEqual({ events: 0, missed: 0 });
    expect(await seen()).toEqual([7, 8, 9, 10]);
  });

  test('what one sink still wants does not keep what is behind it', async () => {
    await sink('behind', 0);
    await db.rows(`update waybill.event_sinks set topics = '{rare}'`);
    await db.rows(`update waybill.outbox_events set topic = 'rare' where feed_no <= $1`, [
      place(5),
    ]);
    await ageEvents(db, 15);
    expect(await forget(3)).toEqual({ events: 3, missed: 0 });
    expect(await forget(3)).toEqual({ events: 2, missed: 0 });
    const left = await db.rows(`select topic from waybill.outbox_events`);
    expect(left).toEqual(Array(5).fill({ topic: 'rare' }));
  });

  test('a reader that was behind is told, and nobody else', async () => {
    await ageEvents(db, 15, 5);
    await forget();
    expect(await page(place(4))).toEqual({ answer: 'forgotten' });
    expect(await seen(place(5))).toEqual([6, 7, 8, 9, 10]);
    expect(await page(null)).toMatchObject({ answer: 'page', through: place(10) });
  });

  test('a reader whose page is read while events go is told, or has them all', async () => {
    await ageEvents(db, 15, 6);
    const holder = new Client({ connectionString: db.url });
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('lock table waybill.outbox_events in access exclusive mode');
      const reading = page(place(4));
      await until('the reader waits', async () => {
        const [waiting] = await db.rows(
          `select from pg_locks where not granted and relation = 'waybill.outbox_events'::regclass`,
        );
        return waiting ?? null;
      });
      await holder.query('select waybill.forget_events(100)');
      await holder.query('commit');
      const answer = await reading;
      const places = answer.answer === 'page' ? answer.events.map(({ feedNo }) => feedNo) : null;
      expect([null, [5, 6, 7, 8, 9, 10].map(place)]).toContainEqual(places);
    } finally {
      await holder.end();
    }
  });

  test('a sink that takes nothing keeps it no longer than the hold, and counts what it missed', async () => {
    await sink('dead', 2);
    await sink('paused', 0, 'paused');
    await ageEvents(db, 15);
    expect(await forget()).toEqual({ events: 0, missed: 0 });
    await ageEvents(db, 31);
    expect(await forget()).toEqual({ events: 10, missed: 18 });
    const rows = await db.rows(
      'select sink_id as id, missed::int from waybill.event_sinks order by sink_id',
    );
    expect(rows).toEqual([
      { id: 'dead', missed: 8 },
      { id: 'paused', missed: 10 },
    ]);
  });

  test('an event that waits parked stays for its sink', async () => {
    await sink('picky', 10);
    await db.rows(
      `insert into waybill.event_sink_parked (tenant_id, sink_id, event_tenant_id, aggregate,
          from_feed_no, next_attempt_at, reason)
        values ('acme', 'picky', 'acme', 'delivery/3', $1, now(), 'event_refused')`,
      [place(3)],
    );
    await ageEvents(db, 15);
    expect(await forget()).toEqual({ events: 9, missed: 0 });
    expect(await placesOf(db)).toEqual([place(3)]);
    await ageEvents(db, 31);
    expect(await forget()).toEqual({ events: 1, missed: 1 });
  });
});
