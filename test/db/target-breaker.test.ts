/**
 * The breaker of a target in a real Postgres, as the roles that use it. Targets are not called here;
 * outcomes are given, and times are moved by an administrator.
 */
import { insertCatalog } from '../support/catalog-fixture';
import { open, storedDelivery } from '../support/stored-deliveries';
import { TargetFlow } from '../support/target-flows';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
let flow: TargetFlow;
let count = 0;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  flow = await TargetFlow.begin(db, `s${count}`);
});

async function openBreaker(failures = 5): Promise<void> {
  for (const ref of await flow.receives(failures)) await flow.attempt(ref, 'fails');
  expect(await flow.state()).toMatchObject({ breaker: 'open', opens: 1, opens_for: 30 });
}

test('opens after as many failing attempts in a row as the target says; an answer begins anew', async () => {
  for (const ref of await flow.receives(4)) await flow.attempt(ref, 'fails');
  await flow.attempt(await flow.receive(), 'answers');
  expect(await flow.state()).toMatchObject({ breaker: 'closed', failures: 0 });
  await openBreaker();
});

test('attempts that succeed write nothing about their target', async () => {
  for (const ref of await flow.receives(3)) await flow.attempt(ref, 'answers');
  expect(await flow.state()).toBeUndefined();
});

test('while it is open deliveries are held, say why, and lose no attempt', async () => {
  await openBreaker();
  const ref = await flow.receive();
  expect(await flow.open(ref)).toMatchObject({
    answer: 'held',
    info: { heldBy: 'breaker_open', state: 'Verified', attempts: 0, againInMs: 600_000 },
  });
  expect(await storedDelivery(db, ref)).toMatchObject({ reason: 'held', attempts: 0 });
  expect(await flow.release()).toBe(0);
});

test('a retry that is due while it is open is held, and its total span stands still', async () => {
  const ref = await flow.receive();
  await flow.attempt(ref, 'fails');
  await openBreaker(4);
  await db.rows(
    `update waybill.deliveries set next_attempt_at = clock_timestamp() where delivery_id = $1`,
    [ref.deliveryId],
  );
  expect(await flow.why(ref)).toBe('breaker_open');
  const elapsed = async () => {
    const [row] = await db.rows<{ ms: number }>(
      `select extract(epoch from clock_timestamp() - series_started_at)::float8 as ms
        from waybill.deliveries where delivery_id = $1`,
      [ref.deliveryId],
    );
    return row?.ms ?? 0;
  };
  const before = await elapsed();
  await db.rows(
    `update waybill.deliveries set gated_at = gated_at - interval '1 hour',
        series_started_at = series_started_at - interval '1 hour' where delivery_id = $1`,
    [ref.deliveryId],
  );
  await flow.timeOver();
  expect(await flow.release()).toBe(1);
  expect((await elapsed()) - before).toBeLessThan(30);
});

test.each([
  [
    'its instance is disabled',
    `instances set status = 'disabled'`,
    `instances set status = 'enabled'`,
  ],
  [
    'its subscription is moved to another target',
    `target_states set paused_at = now(), paused_by = 'ada', pause_reason = 'x'`,
    `subscriptions set target_id = 'elsewhere-target'`,
  ],
])('the time that a retry is held until %s is not of its span', async (what, holds, ends) => {
  const ref = await flow.receive();
  await flow.attempt(ref, 'fails');
  await insertCatalog(db, { subscription: 'elsewhere' }).catch(() => undefined);
  const change = (text: string) =>
    db.rows(`update waybill.deliveries set ${text} where delivery_id = $1`, [ref.deliveryId]);
  await change('next_attempt_at = clock_timestamp()');
  await db.rows(`update waybill.${holds}`);
  expect(await flow.open(ref)).toMatchObject({ answer: 'held' });
  await change(`gated_at = gated_at - interval '1 hour',
    series_started_at = series_started_at - interval '1 hour'`);
  const where = what.includes('subscription') ? ` where subscription_id = $1` : '';
  await db.rows(`update waybill.${ends}${where}`, where === '' ? [] : [flow.fixture.subscription]);
  expect((await open(db, ref)).info.seriesElapsedMs).toBeLessThan(60_000);
});

test('once its time is over one delivery is its probe, over all processes', async () => {
  await openBreaker();
  await flow.timeOver();
  const answers = await Promise.all((await flow.receives(6)).map((ref) => flow.why(ref)));
  expect(answers.sort()).toEqual([...Array<string>(5).fill('breaker_open'), 'opened']);
  expect(await flow.state()).toMatchObject({ breaker: 'half_open' });
});

test('of what the express lane claims together one is its probe, and the others are their workflows’', async () => {
  await openBreaker();
  await flow.timeOver();
  await flow.lane('express');
  const refs = await flow.receives(6);
  const claimed = await flow.claims(10);
  expect(claimed.map(({ opened }) => opened.answer).sort()).toEqual([
    ...Array<string>(5).fill('held'),
    'opened',
  ]);
  expect(await flow.state()).toMatchObject({ breaker: 'half_open' });
  const probe = claimed.find(({ opened }) => opened.answer === 'opened')?.ref;
  if (probe === undefined) throw new Error('there is no probe');
  await flow.ends(probe, 1, 'answers');
  expect(await flow.release()).toBe(refs.length - 1);
});

test('an answer to the probe closes it', async () => {
  await openBreaker();
  await flow.timeOver();
  await flow.attempt(await flow.receive(), 'answers');
  expect(await flow.state()).toMatchObject({ breaker: 'closed', failures: 0, opens: 0 });
});

test('a probe that fails opens it again, for twice as long each time up to 16 times', async () => {
  await openBreaker();
  for (const opensFor of [60, 120, 240, 480, 480]) {
    await flow.timeOver();
    await flow.attempt(await flow.receive(), 'fails');
    expect(await flow.state()).toMatchObject({ breaker: 'open', opens_for: opensFor });
  }
});

test('only the probe decides: what began before it was open changes nothing', async () => {
  const early = await flow.receive();
  const no = await flow.begins(early);
  await openBreaker();
  await flow.ends(early, no, 'answers');
  expect(await flow.state()).toMatchObject({ breaker: 'open' });
});

test('a probe whose worker is lost leaves it to the next one', async () => {
  await openBreaker();
  await flow.timeOver();
  const probe = await flow.receive();
  const no = await flow.begins(probe);
  await flow.ends(probe, no, 'lost');
  expect(await flow.why(await flow.receive())).toBe('opened');
});

test('a target that says so has none', async () => {
  await flow.change('breaker_failures = 0');
  for (const ref of await flow.receives(8)) await flow.attempt(ref, 'fails');
  expect(await flow.state()).toMatchObject({ breaker: 'closed', failures: 8 });
});

test('of what waits the oldest is released as the next probe, one at a time', async () => {
  await openBreaker();
  const waiting = await flow.receives(3);
  for (const ref of waiting) expect(await flow.why(ref)).toBe('breaker_open');
  await flow.timeOver();
  expect([await flow.release(), await flow.release()]).toEqual([1, 0]);
  const [probe] = await flow.released();
  const ref = waiting.find(({ deliveryId }) => deliveryId === probe);
  expect(ref).toBeDefined();
  if (ref !== undefined) await flow.attempt(ref, 'answers');
  await flow.forgetTurns();
  expect(await flow.release()).toBe(2);
});
