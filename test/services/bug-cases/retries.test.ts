/**
 * The faults: a date in Retry-After fires the retry at once, 410 is tried again like any failure, 200
 * with a failure text counts as success, a body that stalls hangs the caller, a redirect is followed
 * to the metadata address, calls under way keep the pool from everybody else. In both lanes. Real:
 * Postgres, the call over sockets. Doubled: nothing.
 */
import { LANES, type Lane } from '../../../src/domain/lanes';
import type { RetryProfile } from '../../../src/domain/retry';
import { DEFAULT_RETRY_PROFILE } from '../../../src/domain/retry';
import { AttemptClosings } from '../../../src/services/attempt-closings';
import { makeAttempt } from '../../../src/services/attempts';
import { decideReplay } from '../../../src/services/replays';
import type { CatalogOptions } from '../../support/catalog-fixture';
import { DeliveryRig } from '../../support/delivery-rig';
import { nextAttempt } from '../../support/next-attempt';
import type { Answer } from '../../support/receiver';
import { testPool } from '../../support/test-database';

let rig: DeliveryRig;
let count = 0;
beforeAll(async () => {
  rig = await DeliveryRig.start();
});
afterAll(() => rig.stop());

const PROFILE: RetryProfile = {
  ...DEFAULT_RETRY_PROFILE,
  ...{ jitter: 0, backoff: { kind: 'list', delaysMs: [30_000] }, retryAfterCapMs: 600_000 },
};

/** One attempt against a target that answers so; what follows from it, and what is stored. */
async function triedIn(lane: Lane, answer: Answer, options: CatalogOptions = {}) {
  count += 1;
  const subscription = `s${count}`;
  const fixture = await rig.catalog({ subscription, retry: PROFILE, lane, ...options });
  const ref = await rig.accept(fixture);
  rig.receiver.answers.push(answer);
  const told = await nextAttempt(rig, ref);
  rig.receiver.answers.length = 0;
  const [attempt] = await rig.db.rows<{ outcome: string; reason: string; answer_sha256: string }>(
    `select outcome, reason, detail, answer_sha256 from waybill.delivery_attempts
      where delivery_id = $1`,
    [ref.deliveryId],
  );
  const [row] = await rig.db.rows<{ state: string }>(
    `select state from waybill.subscriptions where subscription_id = $1`,
    [subscription],
  );
  return { ref, fixture, told, attempt, subscription: row?.state };
}

const busy = (retryAfter: string) => ({ status: 429, headers: { 'retry-after': retryAfter } });
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();

describe.each(LANES)('in the lane %s', (lane) => {
  const tried = (answer: Answer, options?: CatalogOptions) => triedIn(lane, answer, options);

  describe('Retry-After', () => {
    test.each([
      ['whole seconds', '120', 120_000],
      ['less than the profile', '1', 30_000],
      ['zero', '0', 30_000],
      ['a negative number', '-3', 30_000],
      ['a fraction', '1.5', 30_000],
      ['a number with text', '1000abc', 30_000],
      ['nothing', '', 30_000],
      ['a number past every timer', '99999999999', 600_000],
      ['forty digits', '9'.repeat(40), 600_000],
      ['the end of time', 'Fri, 31 Dec 9999 23:59:59 GMT', 600_000],
      ['a date that is over', 'Sun, 06 Nov 1994 08:49:37 GMT', 30_000],
    ])('of %s: never before the profile, never after the cap', async (_what, field, dueInMs) => {
      expect((await tried(busy(field))).told).toMatchObject({ kind: 'retry', dueInMs });
    });

    test('of a date ahead is obeyed by the clock of the database', async () => {
      const { told } = await tried(busy(inSeconds(90)));
      if (told.kind !== 'retry') throw new Error(told.kind);
      expect(told.dueInMs).toBeGreaterThan(85_000);
      expect(told.dueInMs).toBeLessThanOrEqual(91_000);
    });
  });

  describe('an answer', () => {
    test('of 410 fails at once and pauses the subscription', async () => {
      const { told, subscription } = await tried({ status: 410 });
      expect(told).toMatchObject({ kind: 'failed', attempts: 1, reason: 'target_gone' });
      expect(subscription).toBe('paused');
    });

    test.each([400, 401, 403, 404, 422])(
      'of %i fails without burning attempts, and can be replayed',
      async (status) => {
        const { told, ref, subscription } = await tried({ status });
        expect(told).toMatchObject({ kind: 'failed', attempts: 1, reason: 'permanent_refusal' });
        expect(await rig.row(ref)).toMatchObject({ state: 'Failed' });
        expect(subscription).toBe('active');
      },
    );

    test('of 401, once whoever keeps the target has mended it, ends acknowledged by a replay', async () => {
      const { ref } = await tried({ status: 401 });
      const who = { replayedBy: 'ada', reason: 'the token is renewed' };
      expect(await decideReplay(rig.services, ref, who)).toMatchObject({ kind: 'replayed' });
      const calls = rig.receiver.calls.length;
      expect(await nextAttempt(rig, ref)).toMatchObject({ kind: 'acknowledged' });
      expect(await rig.row(ref)).toMatchObject({ state: 'Acknowledged', series: 2 });
      expect(rig.receiver.calls).toHaveLength(calls + 1);
    });

    test.each([408, 425, 429, 500, 503])('of %i is tried again', async (status) => {
      expect((await tried({ status })).told).toMatchObject({ kind: 'retry', dueInMs: 30_000 });
    });

    test.each([200, 202, 204])(
      'of %i is an acknowledgement, with or without a body',
      async (status) => {
        expect((await tried({ status })).told).toMatchObject({ kind: 'acknowledged' });
      },
    );

    test.each([
      ['a failure text', '{"ok":false}', 'retry'],
      ['no body', '', 'retry'],
      ['the declared success', '{"ok":true}', 'acknowledged'],
    ])(
      'of 200 with %s is judged by the declared check, and its hash is kept',
      async (_what, body, kind) => {
        const success = { pointer: '/ok', equals: true };
        const { told, attempt } = await tried({ status: 200, body }, { success });
        expect(told.kind).toBe(kind);
        expect(attempt?.answer_sha256).toMatch(/^[0-9a-f]{64}$/);
      },
    );

    test('that redirects is a failure: nothing reaches the other host', async () => {
      const before = rig.receiver.calls.length;
      const elsewhere = { location: `${rig.receiver.url}/elsewhere` };
      const { told, attempt } = await tried({ status: 307, headers: elsewhere });
      expect(told).toMatchObject({ kind: 'retry', reason: 'redirect_refused' });
      expect(attempt).toMatchObject({ outcome: 'refused', reason: 'redirect_refused' });
      expect(rig.receiver.calls.slice(before).map(({ path }) => path)).toEqual(['/hook']);
    });

    test('that never comes ends the attempt at its deadline as unknown, never as success', async () => {
      const { told, attempt } = await tried('hang', { timeoutMs: 300 });
      expect(told).toMatchObject({ kind: 'retry', reason: 'timed_out' });
      expect(attempt).toMatchObject({ outcome: 'unknown', reason: 'timed_out' });
    });
  });

  describe('a target whose address must not be called', () => {
    test('fails at once where its URL says so, and nothing was sent', async () => {
      const { told, attempt } = await tried(
        { status: 200 },
        { targetUrl: 'http://169.254.169.254/latest/meta-data/' },
      );
      expect(told).toMatchObject({ kind: 'failed', attempts: 1, reason: 'address_refused' });
      expect(attempt).toMatchObject({
        ...{ outcome: 'not_sent', reason: 'address_refused' },
        detail: 'nothing was sent: its address is not public',
      });
    });
  });
});

test('as many calls as the pool has connections keep no transaction open, and nobody waiting', async () => {
  const fixture = await rig.catalog({ subscription: 'slow', timeoutMs: 20_000 });
  const refs = await Promise.all(Array.from({ length: 6 }, () => rig.accept(fixture)));
  const pool = { maxConnections: 5, applicationName: 'five-calls' };
  const data = testPool(rig.db.url, 'waybill_data', pool);
  const services = { ...rig.services, data, closings: new AttemptClosings(data) };
  const stopping = new AbortController();
  const before = rig.receiver.calls.length;
  rig.receiver.answers.push(...Array.from({ length: 5 }, () => 'hang' as const));
  const { signal } = stopping;
  const worker = { owner: 'test', takeOver: false };
  const hanging = refs.slice(1).map((ref) => makeAttempt(services, ref, { ...worker, signal }));
  await rig.receiver.seen(before + 5);
  const connections = await rig.db.rows<{ state: string }>(
    'select state from pg_stat_activity where application_name = $1',
    [pool.applicationName],
  );
  expect(connections.length).toBeGreaterThan(0);
  expect(connections.filter(({ state }) => state !== 'idle')).toEqual([]);
  const [sixth] = refs;
  if (sixth === undefined) throw new Error('nothing was accepted');
  // On the same pool, while none of the others is over.
  const first = await Promise.race([
    makeAttempt(services, sixth, { ...worker, signal: new AbortController().signal }),
    ...hanging,
  ]);
  expect(first).toMatchObject({ kind: 'acknowledged' });
  expect(rig.receiver.of(sixth.deliveryId)).toHaveLength(1);
  stopping.abort();
  for (const told of await Promise.all(hanging)) {
    expect(told).toMatchObject({ kind: 'retry', reason: 'answer_lost' });
  }
  await data.close();
});
