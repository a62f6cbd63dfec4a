/**
 * The outbox in a real Postgres: which change of a delivery is told, in what order events get their
 * places, and what the feed shows. Nothing is doubled.
 */
import { CloudEvent } from 'cloudevents';
import { Client } from 'pg';
import {
  closeAttempt,
  failDelivery,
  rejectDelivery,
  replayDelivery,
} from '../../src/db/deliveries';
import { feedEnd, readEvents, sequenceEvents } from '../../src/db/events';
import { cloudEvent, EVENT_TOPICS } from '../../src/domain/events';
import { tenantId } from '../../src/domain/ids';
import { LANES } from '../../src/domain/lanes';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { openNext } from '../support/next-attempt';
import { outboxOf, placesOf, tell } from '../support/outbox';
import {
  ACKNOWLEDGED,
  failedDelivery,
  open,
  receipt,
  receive,
  verifiedRequest,
} from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const ACME = tenantId('acme');

let db: TestDatabase;
let fixture: CatalogFixture;
beforeEach(async () => {
  db = await createTestDatabase();
  fixture = await insertCatalog(db);
});
afterEach(() => db.drop());

const page = (after: number | null = null, topics: string[] | null = null, limit = 100) =>
  readEvents(db.as('waybill_data'), { tenantId: ACME, after, topics, limit });

async function eventsBehind(after: number | null = null) {
  const answer = await page(after);
  if (answer.answer !== 'page') throw new Error('events have gone');
  return answer.events;
}

const sequence = () => sequenceEvents(db.as('waybill_operations'), 1_000);

describe('a change of a delivery', () => {
  test.each(LANES)(
    'is told with the state it tells of: verified, dispatched (%s)',
    async (lane) => {
      const ref = await receive(db, await insertCatalog(db, { lane, subscription: lane }));
      expect(await outboxOf(db, ref)).toEqual([]);
      const { attempt } = (await openNext(db, ref)).info;
      expect(await outboxOf(db, ref)).toEqual(['1 DeliveryReceived']);
      const last = receipt('acknowledged');
      await closeAttempt(db.as('waybill_data'), { ...ref, attempt }, ACKNOWLEDGED, last);
      expect(await outboxOf(db, ref)).toEqual(['1 DeliveryReceived', '2 DeliveryDispatched']);
    },
  );

  test('is told of one that failed and was replayed', async () => {
    const { ref, last } = await failedDelivery(db, fixture);
    const who = { replayedBy: 'ada', reason: 'repaired' };
    await replayDelivery(db.as('waybill_data'), ref, who, receipt('replayed', last));
    expect(await outboxOf(db, ref)).toEqual([
      ...['1 DeliveryReceived', '2 DeliveryFailed', '3 DeliveryReplayed'],
    ]);
  });

  test('that failed before its bytes were checked is told as received by its replay, once', async () => {
    const ref = await receive(db, fixture);
    const why = { reason: 'instance_revoked', detail: 'the instance was revoked' };
    const failed = receipt('failed');
    await failDelivery(db.as('waybill_data'), ref, why, failed);
    const who = { replayedBy: 'ada', reason: 'enabled again' };
    await replayDelivery(db.as('waybill_data'), ref, who, receipt('replayed', failed));
    await open(db, ref);
    expect(await outboxOf(db, ref)).toEqual([
      ...['1 DeliveryFailed', '2 DeliveryReplayed', '3 DeliveryReceived'],
    ]);
  });

  test('is no news where the request was rejected or had come before', async () => {
    const first = verifiedRequest(fixture);
    await receive(db, fixture, first);
    const again = verifiedRequest(fixture, { dedupKey: first.dedupKey });
    const duplicate = await receive(db, fixture, again);
    const other = verifiedRequest(fixture, { dedupKey: first.dedupKey, payload: Buffer.from('x') });
    const conflict = await receive(db, fixture, other);
    const stale = { signedAtMs: 0, toleranceMs: 1, aheadMs: 1 };
    const late = await receive(db, fixture, { freshness: stale });
    const forged = verifiedRequest(fixture);
    const why = { reason: 'signature_refused', detail: 'no secret matches' };
    await rejectDelivery(db.as('waybill_data'), forged, why);
    for (const ref of [duplicate, conflict, late, forged]) {
      expect(await outboxOf(db, ref)).toEqual([]);
    }
    const [count] = await db.rows<{ n: number }>(
      'select count(*)::int as n from waybill.deliveries',
    );
    expect(count?.n).toBe(5);
  });

  test('that is rolled back is not told', async () => {
    const ref = await receive(db, fixture);
    const client = new Client({ connectionString: db.url });
    await client.connect();
    await client.query('begin');
    await client.query(`select from waybill.open_attempt($1, $2, 'doomed')`, [
      ACME,
      ref.deliveryId,
    ]);
    const [inside] = (await client.query<{ n: number }>(OUTBOX_COUNT)).rows;
    expect(inside?.n).toBe(1);
    const [self] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
    client.on('error', () => undefined);
    // Killed between the state and its commit.
    await db.rows('select pg_terminate_backend($1)', [self?.pid]);
    await client.end().catch(() => undefined);
    expect(await db.rows(OUTBOX_COUNT)).toEqual([{ n: 0 }]);
    await open(db, ref);
    expect(await outboxOf(db, ref)).toEqual(['1 DeliveryReceived']);
  });
});

const OUTBOX_COUNT = 'select count(*)::int as n from waybill.outbox_events';

describe('an event', () => {
  test('is a CloudEvent 1.0 by the official SDK, with ids only', async () => {
    const { ref, last } = await failedDelivery(db, fixture);
    const who = { replayedBy: 'ada', reason: 'repaired' };
    await replayDelivery(db.as('waybill_data'), ref, who, receipt('replayed', last));
    await sequence();
    const events = await eventsBehind();
    expect(events).toHaveLength(3);
    for (const [index, event] of events.entries()) {
      const told = cloudEvent(event);
      // The constructor validates, and takes extensions only of the names that the specification allows.
      const parsed = new CloudEvent(told as unknown as Partial<CloudEvent<unknown>>, true);
      expect(parsed.id).toBe(`acme/delivery/${ref.deliveryId}/${String(index + 1)}`);
      expect(parsed.source).toBe('urn:waybill:acme');
      expect(parsed.subject).toBe(`delivery/${ref.deliveryId}`);
      expect(parsed).toMatchObject({ tenant: 'acme', sequence: String(index + 1) });
      expect(Math.abs(Date.parse(parsed.time ?? '') - Date.now())).toBeLessThan(60_000);
    }
    expect(events.map(({ data }) => Object.keys(data).sort())).toEqual([
      ['connectorId', 'deliveryId', 'eventType', 'payloadHash', 'subscriptionId', 'tenantId'],
      ['deliveryId', 'direction', 'reason', 'tenantId'],
      ['deliveryId', 'replayedBy', 'tenantId'],
    ]);
  });

  test('of the platform is everybody’s to see, of another tenant nobody’s', async () => {
    await tell(db, { tenant: '_platform', aggregate: 'connector/github/1.0.0' });
    await tell(db, { tenant: 'globex', aggregate: 'delivery/theirs' });
    await tell(db, { tenant: 'acme', aggregate: 'delivery/ours' });
    await sequence();
    const seen = (await eventsBehind()).map(({ tenantId: tenant }) => tenant);
    expect(seen).toEqual(['_platform', 'acme']);
    const data = db.as('waybill_data');
    const forged = data.transaction(async (run) => {
      await run({ name: '', text: `select set_config('waybill.tenant', 'acme', true)` }, []);
      const text = `insert into waybill.outbox_events (tenant_id, aggregate, aggregate_seq, topic, payload)
        values ('_platform', 'connector/forged', 1, 'x', '{}')`;
      await run({ name: '', text }, []);
    });
    await expect(forged).rejects.toMatchObject({ code: '42501' });
  });
});

describe('places in the feed', () => {
  test('a transaction that commits late is not skipped, however long it was held open', async () => {
    const late = new Client({ connectionString: db.url });
    await late.connect();
    await late.query('begin');
    // Takes its transaction id and the lower position first.
    await late.query(INSERT, ['acme', 'delivery/late', 1]);
    await tell(db, { tenant: 'acme', aggregate: 'delivery/early' });
    await sequence();
    const first = await eventsBehind();
    expect(first.map(({ aggregate }) => aggregate)).toEqual(['delivery/early']);
    const read = first[0]?.feedNo ?? -1;
    expect(await eventsBehind(read)).toEqual([]);
    await late.query('commit');
    await late.end();
    await sequence();
    expect((await eventsBehind(read)).map(({ aggregate }) => aggregate)).toEqual(['delivery/late']);
  });

  test('hold the order of an aggregate whose later event has the older transaction', async () => {
    const older = new Client({ connectionString: db.url });
    await older.connect();
    await older.query('begin');
    await older.query('select pg_current_xact_id()');
    await tell(db, { tenant: 'acme', aggregate: 'subscription/pushes', sequence: 1 });
    await older.query(INSERT, ['acme', 'subscription/pushes', 2]);
    await older.query('commit');
    await older.end();
    await sequence();
    expect((await eventsBehind()).map((event) => event.sequence)).toEqual([1, 2]);
  });

  test('several give them and many write at once: every reader sees all, once, in order', async () => {
    const WRITERS = 6;
    const EACH = 40;
    let writing = WRITERS;
    const write = async (nth: number) => {
      const data = db.as('waybill_data');
      for (let n = 1; n <= EACH; n += 1) {
        await data.transaction(async (run) => {
          await run({ name: '', text: `select set_config('waybill.tenant', 'acme', true)` }, []);
          await run({ name: '', text: INSERT }, ['acme', `delivery/w${String(nth)}`, n]);
        });
      }
      writing -= 1;
    };
    const sequencing = async () => {
      while (writing > 0 || (await sequence()) > 0)
        await sequenceEvents(db.as('waybill_operations'), 7);
    };
    const read = async () => {
      const seen: string[] = [];
      for (let after: number | null = null; seen.length < WRITERS * EACH;) {
        const answer = await page(after, null, 13);
        if (answer.answer !== 'page') throw new Error('events have gone');
        seen.push(...answer.events.map((e) => `${e.aggregate} ${String(e.sequence)}`));
        after = answer.through;
      }
      return seen;
    };
    const writers = Array.from({ length: WRITERS }, (_, nth) => write(nth));
    const [one, other] = await Promise.all([
      read(),
      read(),
      sequencing(),
      sequencing(),
      ...writers,
    ]);
    expect(one).toEqual(other);
    expect(new Set(one).size).toBe(WRITERS * EACH);
    for (let nth = 0; nth < WRITERS; nth += 1) {
      const own = one.filter((text) => text.startsWith(`delivery/w${String(nth)} `));
      const wanted = Array.from(
        { length: EACH },
        (_, n) => `delivery/w${String(nth)} ${String(n + 1)}`,
      );
      expect(own).toEqual(wanted);
    }
  });

  test('go on above those that a reader remembers when the database was restored', async () => {
    await tell(db, { tenant: 'acme', aggregate: 'delivery/before' });
    await sequence();
    const [before] = await placesOf(db);
    // A backup of earlier knows nothing of that place.
    await db.rows('delete from waybill.outbox_events');
    await db.rows('update waybill.event_feed set last_feed_no = 0');
    await tell(db, { tenant: 'acme', aggregate: 'delivery/after' });
    await sequence();
    const seen = await eventsBehind(before);
    expect(seen.map(({ aggregate }) => aggregate)).toEqual(['delivery/after']);
  });

  test('of a type that is rare: the place moves on past all others', async () => {
    for (let n = 1; n <= 30; n += 1)
      await tell(db, { tenant: 'acme', aggregate: `delivery/${String(n)}` });
    await tell(db, { tenant: 'acme', aggregate: 'delivery/x', topic: EVENT_TOPICS.DeliveryFailed });
    await sequence();
    const answer = await page(null, [EVENT_TOPICS.DeliveryFailed]);
    const through = (await placesOf(db)).at(-1) ?? -1;
    expect(answer).toMatchObject({ answer: 'page', more: false, through });
    expect(await page(through)).toEqual({ answer: 'page', through, more: false, events: [] });
    expect(await feedEnd(db.as('waybill_data'), ACME)).toBe(through);
  });
});

const INSERT = `insert into waybill.outbox_events (tenant_id, aggregate, aggregate_seq, topic, payload)
  values ($1, $2, $3, 'connectors.deliveries.v1.delivery-received', '{}')`;
