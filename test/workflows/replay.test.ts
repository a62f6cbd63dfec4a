/**
 * Bulk replay on a real Temporal server, a real Postgres and a real HTTP target. Doubled: nothing but
 * the incident, whose failed deliveries are put into the database in one statement.
 */
import { compactVerify, createLocalJWKSet } from 'jose';
import { LANES } from '../../src/domain/lanes';
import { publicKeySet } from '../../src/signing/keys';
import { bulkReplayStatementType } from '../../src/signing/bulk-replay-statement';
import { BulkReplayRig } from '../support/bulk-replay-rig';
import { failedInOneGo, plannedIds } from '../support/bulk-replays';
import type { CatalogFixture, CatalogOptions } from '../support/catalog-fixture';
import { until } from '../support/until';

let bulk: BulkReplayRig;
let tenants = 0;

beforeAll(async () => {
  bulk = await BulkReplayRig.start();
  await bulk.work({ planBatch: 100 });
});
afterAll(() => bulk.stop());
beforeEach(() => {
  bulk.rig.receiver.otherwise = { status: 200, body: 'ok' };
});

/** A tenant of its own, with what an incident has left. */
async function incident(count: number, options: CatalogOptions = {}): Promise<CatalogFixture> {
  tenants += 1;
  const fixture = await bulk.rig.catalog({ tenant: `tenant-${tenants}`, ...options });
  await failedInOneGo(bulk.rig.db, fixture, count);
  return fixture;
}

async function statement(receipt: string | null): Promise<unknown> {
  const keys = createLocalJWKSet(publicKeySet([bulk.services.signingKey]));
  const { payload, protectedHeader } = await compactVerify(receipt ?? '', keys);
  expect(protectedHeader.typ).toBe(bulkReplayStatementType);
  return JSON.parse(Buffer.from(payload).toString());
}

test('300 failed deliveries get through, oldest first, and the receipt says so', async () => {
  const fixture = await incident(300);
  const ref = await bulk.plan(fixture, { reason: 'target repaired' });
  const plan = await bulk.reaches(ref, 'planned');
  expect(plan).toMatchObject({ planned: 300, estimatedMs: 3_000 });
  const ids = await plannedIds(bulk.rig.db, ref);
  const before = bulk.rig.receiver.calls.length;
  await bulk.move(ref, 'run');
  // What fails meanwhile is not in it.
  await failedInOneGo(bulk.rig.db, fixture, 3);
  const done = await bulk.reaches(ref, 'finished', 100_000);
  expect(done).toMatchObject({ planned: 300, replayed: 300, acknowledged: 300, failedAgain: 0 });
  expect(await statement(done.receipt)).toMatchObject({
    ...{ subject: `replay/${ref.jobId}`, tenant: fixture.tenant, state: 'finished' },
    ...{ requestedBy: 'ada', runBy: 'bob', reason: 'target repaired' },
    counts: { planned: 300, replayed: 300, acknowledged: 300, failedAgain: 0, open: 0, left: 0 },
  });
  const calls = bulk.rig.receiver.calls.slice(before);
  const order = calls.map(({ headers }) => String(headers['waybill-delivery-id']));
  expect(new Set(order)).toEqual(new Set(ids));
  expect(order).toHaveLength(300);
  // Replayed oldest first, as far as what is decided at once allows.
  const places = (await replayOrder(fixture.tenant)).map((id) => ids.indexOf(id));
  expect(places).toHaveLength(300);
  expect(places.filter((place, at) => Math.abs(place - at) > 20)).toEqual([]);
  await expect(bulk.handle(ref).result()).resolves.toEqual({ state: 'finished' });
  const left = await bulk.rig.db.rows(
    `select count(*)::integer as failed from waybill.deliveries
      where tenant_id = $1 and state = 'Failed'`,
    [fixture.tenant],
  );
  expect(left).toEqual([{ failed: 3 }]);
}, 120_000);

/** Deliveries in the order in which they were replayed, by their receipts. */
async function replayOrder(tenant: string): Promise<string[]> {
  const rows = await bulk.rig.db.rows<{ id: string }>(
    `select split_part(subject, '/', 2) as id from waybill.receipts
      where tenant_id = $1 and kind = 'replayed' order by created_at`,
    [tenant],
  );
  return rows.map(({ id }) => id);
}

test('the rate to a target is bounded', async () => {
  const ref = await bulk.plan(await incident(10), { ratePerSecond: 5 });
  await bulk.reaches(ref, 'planned');
  const began = performance.now();
  await bulk.move(ref, 'run');
  await until('all are replayed', async () => ((await bulk.job(ref)).replayed === 10 ? 1 : null));
  // One, and one more each 200 ms.
  expect(performance.now() - began).toBeGreaterThan(1_500);
  await bulk.reaches(ref, 'finished');
});

test.each(LANES)(
  'in the lane %s what fails again is counted, also beside what does not',
  async (lane) => {
    const fixture = await incident(2, { lane });
    bulk.rig.receiver.answers.push({ status: 404 });
    const ref = await bulk.plan(fixture);
    await bulk.reaches(ref, 'planned');
    await bulk.move(ref, 'run');
    const done = await bulk.reaches(ref, 'finished');
    expect(done).toMatchObject({ replayed: 2, acknowledged: 1, failedAgain: 1, open: 0 });
  },
);

test('a job in the Temporal UI says how far it is, and takes its signals', async () => {
  const ref = await bulk.plan(await incident(30), { ratePerSecond: 2 });
  await bulk.says(ref, /^\*\*Planned\*\*: 30 deliveries.*waybill replay run/);
  await bulk.handle(ref).signal('pause', { by: 'grace' });
  await bulk.says(ref, /^\*\*The signal was refused\*\*: `pause` is not for a job that is planned/);
  await bulk.handle(ref).signal('run', { by: 17 });
  await bulk.says(ref, /^\*\*The signal was refused\*\*: `by` is not a text/);
  await bulk.handle(ref).signal('run', { by: 'grace' });
  await bulk.reaches(ref, 'running');
  await bulk.handle(ref).signal('pause', { by: 'grace', reason: 'lunch' });
  await bulk.says(ref, /^\*\*Paused\*\* by grace: lunch\. \d+ of 30 replayed/);
  const { replayed } = await bulk.reaches(ref, 'paused');
  await bulk.handle(ref).signal('resume', { by: 'grace' });
  await until('it goes on', async () => ((await bulk.job(ref)).replayed > replayed ? 1 : null));
  await bulk.handle(ref).cancel();
  const cancelled = await bulk.reaches(ref, 'cancelled');
  expect(cancelled).toMatchObject({ movedBy: 'temporal-ui', planned: 30 });
  expect(cancelled.left).toBeGreaterThan(0);
  expect(await statement(cancelled.receipt)).toMatchObject({
    ...{ state: 'cancelled', runBy: 'grace' },
    counts: { planned: 30, left: cancelled.left },
  });
  await expect(bulk.handle(ref).result()).resolves.toEqual({ state: 'cancelled' });
});

test('a plan that nobody runs closes its page, and runs when somebody does', async () => {
  const ref = await bulk.plan(await incident(1), {}, { waitMs: 50 });
  await expect(bulk.handle(ref).result()).resolves.toEqual({ state: 'planned' });
  await bulk.move(ref, 'run');
  expect(await bulk.reaches(ref, 'finished')).toMatchObject({ acknowledged: 1 });
});

test('an empty plan ends with a receipt of nothing', async () => {
  const ref = await bulk.plan(await incident(1), { filter: { reason: 'timed_out' } });
  expect(await bulk.reaches(ref, 'planned')).toMatchObject({ planned: 0, oldestAt: null });
  await bulk.move(ref, 'run');
  const { receipt } = await bulk.reaches(ref, 'finished');
  expect(await statement(receipt)).toMatchObject({ counts: { planned: 0, replayed: 0 } });
});

test('a target whose breaker an incident has left open, and that was repaired, is replayed to', async () => {
  const fixture = await incident(3);
  await bulk.rig.db.rows(
    `insert into waybill.target_states (tenant_id, target_id, breaker, open_until, opens)
      values ($1, 'pushes-target', 'open', now(), 3)`,
    [fixture.tenant],
  );
  const ref = await bulk.plan(fixture);
  await bulk.reaches(ref, 'planned');
  await bulk.move(ref, 'run');
  expect(await bulk.reaches(ref, 'finished', 20_000)).toMatchObject({ acknowledged: 3 });
});

test('a subscription that is deactivated meanwhile fails what was replayed, and the receipt adds up', async () => {
  const fixture = await incident(3);
  const ref = await bulk.plan(fixture);
  await bulk.reaches(ref, 'planned');
  await bulk.rig.db.rows(
    `update waybill.subscriptions set state = 'deactivated' where tenant_id = $1`,
    [fixture.tenant],
  );
  await bulk.move(ref, 'run');
  const { receipt } = await bulk.reaches(ref, 'finished', 20_000);
  expect(await statement(receipt)).toMatchObject({
    counts: { planned: 3, replayed: 3, acknowledged: 0, failedAgain: 3, open: 0, left: 0 },
  });
});

test('a target that fails again gets no more: the breaker stops the job early', async () => {
  const fixture = await incident(120, { breakerFailures: 5 });
  bulk.rig.receiver.otherwise = { status: 503 };
  const ref = await bulk.plan(fixture);
  await bulk.reaches(ref, 'planned');
  await bulk.move(ref, 'run');
  await bulk.says(
    ref,
    /^\*\*Running\*\*.*Waits until `target\/pushes-target` takes deliveries again/,
  );
  const { replayed, state } = await bulk.job(ref);
  expect(state).toBe('running');
  expect(replayed).toBeLessThan(60);
  await bulk.move(ref, 'cancel');
  expect((await bulk.reaches(ref, 'cancelled')).left).toBe(120 - replayed);
});
