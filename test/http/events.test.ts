/**
 * The feed of events and the list of sinks over HTTP. Real: socket, server, Postgres, row security; the
 * events are put into the outbox as their aggregates would.
 */
import { CloudEvent } from 'cloudevents';
import { sequenceEvents } from '../../src/db/events';
import { EVENT_TOPICS } from '../../src/domain/events';
import type { EventPage, EventSinkPage } from '../../src/schemas/api-events';
import { ageEvents, tell } from '../support/outbox';
import { Harness, problem, READ } from './harness';

const EVENTS = 'factory.events.read';

let h: Harness;
beforeEach(async () => {
  h = await Harness.start();
});
afterEach(() => h.stop());

const sequence = () => sequenceEvents(h.db.as('waybill_operations'), 1_000);

async function get<Page = EventPage>(path: string, tenant = 'acme'): Promise<Page> {
  const answer = await h.call<Page>(path, { tenant, scopes: [EVENTS] });
  expect(answer.status).toBe(200);
  return answer.body;
}

const refusal = async (path: string, scope = EVENTS) =>
  problem(await h.call(path, { tenant: 'acme', scopes: [scope] }));

const subjects = ({ events }: EventPage) => events.map(({ subject }) => subject);

test('pages go on where the one before ended, and wait at the end', async () => {
  for (const id of ['a', 'b', 'c'])
    await tell(h.db, { tenant: 'acme', aggregate: `delivery/${id}` });
  await tell(h.db, { tenant: 'globex', aggregate: 'delivery/theirs' });
  expect(subjects(await get('/v1/events'))).toEqual([]);
  await sequence();
  const first = await get('/v1/events?limit=2');
  expect(subjects(first)).toEqual(['delivery/a', 'delivery/b']);
  expect(first.more).toBe(true);
  const second = await get(`/v1/events?limit=2&after=${first.next}`);
  expect(subjects(second)).toEqual(['delivery/c']);
  expect(second.more).toBe(false);
  const idle = await get(`/v1/events?after=${second.next}`);
  expect(idle).toEqual({ events: [], next: second.next, more: false });
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/d' });
  await sequence();
  expect(subjects(await get(`/v1/events?after=${second.next}`))).toEqual(['delivery/d']);
  // The same question has the same answer.
  expect(await get('/v1/events?limit=2')).toEqual(first);
  expect(() => new CloudEvent(first.events[0] as Partial<CloudEvent<unknown>>)).not.toThrow();
});

test('end is behind all that is there', async () => {
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/before' });
  await sequence();
  const { events, next } = await get('/v1/events?after=end');
  expect(events).toEqual([]);
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/after' });
  await sequence();
  expect(subjects(await get(`/v1/events?after=${next}`))).toEqual(['delivery/after']);
});

test('a place counts for whatever types', async () => {
  const topic = EVENT_TOPICS.DeliveryFailed;
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/a' });
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/b', topic });
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/c' });
  await sequence();
  const failed = await get(`/v1/events?types=${topic}`);
  expect(subjects(failed)).toEqual(['delivery/b']);
  expect(subjects(await get(`/v1/events?after=${failed.next}`))).toEqual([]);
  const one = await get('/v1/events?limit=1');
  const types = `${topic},${EVENT_TOPICS.DeliveryReplayed}`;
  expect(subjects(await get(`/v1/events?types=${types}&after=${one.next}`))).toEqual([
    'delivery/b',
  ]);
});

test('what is no place of this feed is refused, and so is another scope', async () => {
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/a' });
  await sequence();
  const { next } = await get('/v1/events');
  const foreign = await h.call(`/v1/events?after=${next}`, { tenant: 'globex', scopes: [EVENTS] });
  expect(problem(foreign)).toMatchObject({ code: 'invalid_cursor', field: 'after' });
  expect((await refusal(`/v1/events?after=${next}x`)).code).toBe('invalid_cursor');
  expect(await refusal('/v1/events?types=made-up')).toMatchObject({ code: 'invalid_request' });
  expect((await refusal('/v1/events', READ)).code).toBe('scope_missing');
  expect((await refusal('/v1/event-sinks', READ)).code).toBe('scope_missing');
});

test('whoever is behind what has gone is told so', async () => {
  for (const id of ['a', 'b', 'c'])
    await tell(h.db, { tenant: 'acme', aggregate: `delivery/${id}` });
  await sequence();
  const { next } = await get('/v1/events?limit=1');
  await ageEvents(h.db, 15, 2);
  await h.db.rows('select waybill.forget_events(10)');
  expect(await refusal(`/v1/events?after=${next}`)).toMatchObject({
    ...{ code: 'events_forgotten', status: 410, field: 'after' },
  });
  expect(subjects(await get('/v1/events'))).toEqual(['delivery/c']);
});

test('sinks are listed with how they fare, the own ones only', async () => {
  for (const [tenant, id] of [
    ['acme', 'a'],
    ['acme', 'b'],
    ['globex', 'c'],
  ]) {
    await h.db.rows(
      `insert into waybill.event_sinks (tenant_id, sink_id, url, timeout_ms, topics, secret_refs,
          state, passed) values ($1, $2, 'https://sink.test/', 1000, '{*}', '{env:X}', 'active', 0)`,
      [tenant, id],
    );
  }
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/a' });
  await sequence();
  const first = await get<EventSinkPage>('/v1/event-sinks?limit=1');
  expect(first.sinks).toEqual([
    expect.objectContaining({ sinkId: 'a', state: 'active', behind: 1, parked: [], missed: 0 }),
  ]);
  expect(JSON.stringify(first)).not.toContain('env:X');
  const path = `/v1/event-sinks?limit=1&cursor=${first.nextCursor ?? ''}`;
  const second = await get<EventSinkPage>(path);
  expect(second.sinks.map(({ sinkId }) => sinkId)).toEqual(['b']);
  expect(second.nextCursor).toBeNull();
});
