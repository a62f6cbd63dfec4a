/**
 * Events on their way to sinks. Real: Postgres, the loop of a worker (two where it says so), HTTP.
 * Doubled: nothing; the receivers do what the tests tell them. Verdicts come from what the receivers
 * got and from what the API shows of the sinks.
 */
import { HTTP } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { claimEventSinks, nextSinkEvents, settleSinkEvents } from '../../src/db/event-sinks';
import { sequenceEvents } from '../../src/db/events';
import type { Receiver } from '../support/receiver';
import { firstTimes, got, numbers, SINK_SECRET, SinkRig } from '../support/sink-rig';
import { until } from '../support/until';

let rig: SinkRig;
beforeEach(async () => {
  rig = await SinkRig.start();
});
afterEach(() => rig.stop());

/** Once it has got every event of these subjects at least once. */
async function hasAll(receiver: Receiver, wanted: Record<string, number[]>): Promise<void> {
  const count = Object.values(wanted).flat().length;
  await until('all events', () => {
    return Promise.resolve(new Set(got(receiver).map(({ id }) => id)).size >= count ? true : null);
  });
  expect(firstTimes(got(receiver))).toEqual(wanted);
}

const idle = ({ behind, parkedCount }: { behind: number; parkedCount: number }) =>
  behind === 0 && parkedCount === 0;

test('an event arrives as a signed CloudEvent in structured mode', async () => {
  const receiver = await rig.sink('audit');
  rig.work();
  await rig.tell(['delivery/1'], 1);
  await receiver.seen(1);
  const [call] = receiver.calls;
  const headers = (call?.headers ?? {}) as Record<string, string>;
  const body = call?.body.toString('utf8') ?? '';
  const parsed = HTTP.toEvent({ headers, body });
  expect(parsed).toMatchObject({
    ...{ id: 'acme/delivery/1/1', source: 'urn:waybill:acme', subject: 'delivery/1' },
    ...{ type: 'connectors.deliveries.v1.delivery-received', tenant: 'acme', sequence: '1' },
  });
  expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
  expect(headers['webhook-id']).toBe('acme/delivery/1/1');
  expect(() => new Webhook(SINK_SECRET).verify(body, headers)).not.toThrow();
  await rig.shows('audit', (sink) => idle(sink) && sink.lastTakenAt !== null);
});

test('a sink gets only its types', async () => {
  const receiver = await rig.sink('failures', {
    topics: '{connectors.deliveries.v1.delivery-failed}',
  });
  await rig.tell(['delivery/1'], 3);
  await rig.tell(['delivery/1'], 1, 'delivery-failed');
  await rig.tell(['delivery/1'], 2);
  rig.work();
  await rig.shows('failures', idle);
  await hasAll(receiver, { 'delivery/1': [4] });
});

test('a sink that is down delays only itself, says why, and then gets all of it in order', async () => {
  const down = await rig.sink('down');
  const hanging = await rig.sink('hanging', { timeoutMs: 300 });
  const well = await rig.sink('well');
  down.otherwise = { status: 503, headers: { 'retry-after': '20' } };
  hanging.otherwise = 'hang';
  rig.work();
  await rig.tell(['delivery/1', 'delivery/2'], 5);
  await hasAll(well, { 'delivery/1': numbers(5), 'delivery/2': numbers(5) });
  const shown = await rig.shows('down', ({ failures }) => failures > 0);
  expect(shown).toMatchObject({ state: 'active', reason: 'status_refused', behind: 10 });
  expect(shown.detail).toBe('the target answered 503');
  // What it asked for, not the second that would be due.
  const waitMs = Date.parse(shown.nextAttemptAt ?? '') - Date.parse(shown.failingSince ?? '');
  expect(waitMs).toBeGreaterThan(19_000);
  expect(await rig.shows('hanging', ({ failures }) => failures > 0)).toMatchObject({
    reason: 'timed_out',
  });
  expect(rig.troubles.map(({ sinkId, what }) => `${sinkId} ${what}`).sort()).toEqual(
    expect.arrayContaining(['down failing', 'hanging failing']),
  );
  for (const receiver of [down, hanging]) receiver.otherwise = { status: 204 };
  await rig.hurry();
  const all = { 'delivery/1': numbers(5), 'delivery/2': numbers(5) };
  await hasAll(down, all);
  await hasAll(hanging, all);
  expect(await rig.shows('down', idle)).toMatchObject({ failures: 0, reason: null });
});

test('two workers and a sink that fails now and then: in order, and repeats only', async () => {
  const receiver = await rig.sink('shaky');
  let calls = 0;
  receiver.decide = () => {
    calls += 1;
    if (calls % 41 === 0) return 'reset';
    return calls % 29 === 0 ? { status: 500 } : null;
  };
  const hurrying = setInterval(() => void rig.hurry().catch(() => undefined), 50);
  rig.work();
  rig.work();
  const subjects = ['delivery/a', 'delivery/b', 'delivery/c', 'subscription/s'];
  try {
    for (let n = 0; n < 5; n += 1) await rig.tell(subjects, 4);
    await hasAll(receiver, Object.fromEntries(subjects.map((subject) => [subject, numbers(20)])));
    await rig.shows('shaky', idle);
  } finally {
    clearInterval(hurrying);
  }
});

test('one sink is served by one worker at a time', async () => {
  const receiver = await rig.sink('single');
  let open = 0;
  let most = 0;
  receiver.decide = () => {
    open += 1;
    most = Math.max(most, open);
    setImmediate(() => (open -= 1));
    return null;
  };
  rig.work();
  rig.work();
  await rig.tell(['delivery/only'], 60);
  await hasAll(receiver, { 'delivery/only': numbers(60) });
  await rig.shows('single', idle);
  // One aggregate: more than one call at once would be two workers.
  expect(most).toBe(1);
  expect(got(receiver)).toHaveLength(60);
});

test('a thousand pending events are caught up with, each sent once', async () => {
  const receiver = await rig.sink('late');
  const subjects = Array.from({ length: 50 }, (_, n) => `delivery/${String(n)}`);
  await rig.tell(subjects, 20);
  rig.work();
  await hasAll(receiver, Object.fromEntries(subjects.map((subject) => [subject, numbers(20)])));
  await rig.shows('late', idle);
  expect(receiver.calls).toHaveLength(1_000);
});

test('an event that is refused parks its subject, others go on, and nothing of it is lost', async () => {
  const receiver = await rig.sink('picky');
  let refusing = true;
  receiver.decide = ({ body }) => {
    const { subject, sequence } = JSON.parse(body.toString('utf8')) as Record<string, string>;
    return refusing && subject === 'delivery/bad' && sequence === '2' ? { status: 422 } : null;
  };
  rig.work();
  await rig.tell(['delivery/bad', 'delivery/good'], 3);
  const shown = await rig.shows('picky', ({ parkedCount }) => parkedCount === 1);
  expect(shown).toMatchObject({ state: 'active', failures: 0, behind: 0 });
  expect(shown.parked[0]).toMatchObject({
    ...{ subject: 'delivery/bad', reason: 'event_refused', detail: 'the target answered 422' },
  });
  expect(rig.troubles).toEqual([
    expect.objectContaining({ what: 'parked', subject: 'delivery/bad' }),
  ]);
  // More of it comes while it waits, and it is refused again.
  await rig.tell(['delivery/bad', 'delivery/good'], 15);
  await rig.hurry();
  await rig.shows('picky', ({ parked }) => (parked[0]?.failures ?? 0) >= 2);
  const waiting = firstTimes(got(receiver).filter(({ sequence }) => sequence > 2));
  expect(waiting['delivery/bad']).toBeUndefined();
  refusing = false;
  await rig.hurry();
  await hasAll(receiver, { 'delivery/bad': numbers(18), 'delivery/good': numbers(18) });
  await rig.shows('picky', idle);
});

test('a sink that refuses everything fails as a whole: what is parked is bounded', async () => {
  const receiver = await rig.sink('wrong');
  receiver.otherwise = { status: 400 };
  rig.work();
  await rig.tell(
    Array.from({ length: 130 }, (_, n) => `delivery/${String(n)}`),
    1,
  );
  const shown = await rig.shows('wrong', ({ reason }) => reason === 'too_many_refused');
  expect(shown.parkedCount).toBe(100);
  receiver.otherwise = { status: 200 };
  await rig.hurry();
  const all = Array.from({ length: 130 }, (_, n) => [`delivery/${String(n)}`, [1]]);
  await rig.shows('wrong', idle);
  await hasAll(receiver, Object.fromEntries(all) as Record<string, number[]>);
});

test('410 pauses the sink, and nothing is sent before somebody says so', async () => {
  const receiver = await rig.sink('gone');
  receiver.otherwise = { status: 410 };
  rig.work();
  await rig.tell(['delivery/1'], 2);
  const shown = await rig.shows('gone', ({ state }) => state === 'paused');
  expect(shown).toMatchObject({ pauseReason: 'target_gone', behind: 2 });
  expect(rig.troubles).toEqual([expect.objectContaining({ what: 'paused' })]);
  expect(receiver.calls).toHaveLength(1);
  receiver.otherwise = { status: 200 };
  await rig.db.rows(
    `update waybill.event_sinks set state = 'active', pause_reason = null, next_attempt_at = null`,
  );
  await hasAll(receiver, { 'delivery/1': [1, 2] });
});

test('without its secret nothing is sent', async () => {
  const receiver = await rig.sink('unsigned');
  await rig.db.rows(`update waybill.event_sinks set secret_refs = '{env:NO_SUCH}'`);
  rig.work();
  await rig.tell(['delivery/1'], 1);
  const shown = await rig.shows('unsigned', ({ failures }) => failures > 0);
  expect(shown).toMatchObject({
    ...{ reason: 'secret_unavailable', detail: 'secret env:NO_SUCH is not set' },
  });
  expect(receiver.calls).toHaveLength(0);
});

test('an address that may not be called is not called', async () => {
  await rig.sink('inside', { url: 'http://127.0.0.2:1/' });
  rig.work();
  await rig.tell(['delivery/1'], 1);
  const shown = await rig.shows('inside', ({ failures }) => failures > 0);
  expect(shown.reason).toBe('address_refused');
});

test('who has lost the lease sends nothing more and moves nothing', async () => {
  await rig.sink('fenced');
  await rig.tell(['delivery/1'], 2);
  const operations = rig.db.as('waybill_operations');
  await sequenceEvents(operations, 100);
  const [stale] = await claimEventSinks(operations, 1);
  expect(await claimEventSinks(operations, 1)).toEqual([]);
  await rig.db.rows('update waybill.event_sinks set lease_ends_at = now()');
  const [heir] = await claimEventSinks(operations, 1);
  if (stale === undefined || heir === undefined) throw new Error('was not claimed');
  expect(await nextSinkEvents(operations, stale, 10)).toBeNull();
  const nothing = { parked: [], failure: null, pause: null, release: true };
  const moved = { passed: 2, taken: 2, alive: true, ...nothing };
  expect(await settleSinkEvents(operations, stale, moved)).toBe(false);
  expect((await nextSinkEvents(operations, heir, 10))?.events).toHaveLength(2);
  expect((await rig.shown('fenced')).behind).toBe(2);
});

test('a worker that is told to stop leaves the sink to others at once', async () => {
  const receiver = await rig.sink('handed-on');
  receiver.otherwise = 'hang';
  const first = rig.work();
  await rig.tell(['delivery/1'], 3);
  await receiver.seen(1);
  await first.stop();
  expect(await rig.shown('handed-on')).toMatchObject({ failures: 0, behind: 3 });
  receiver.otherwise = { status: 200 };
  rig.work();
  await hasAll(receiver, { 'delivery/1': numbers(3) });
});
