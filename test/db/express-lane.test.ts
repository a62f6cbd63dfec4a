/**
 * Claiming for the express lane in a real Postgres, as the roles that do it: what is claimed, how it is
 * shared out, and that a delivery is never the loop's and its workflow's at once. Targets are not called
 * here; outcomes are given.
 */
import { claimExpress, claimUnshown, expressTenants } from '../../src/db/express-deliveries';
import { claimUnattended, closeAttempt, openAttempt } from '../../src/db/deliveries';
import { switchTarget } from '../../src/db/target-flow';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import { insertCatalog, type CatalogOptions } from '../support/catalog-fixture';
import {
  ACKNOWLEDGED,
  receipt,
  receive,
  REFUSED,
  retryIn,
  storedDelivery,
} from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

let fresh = 0;
/** A subscription of the lane, with a tenant of its own unless told. */
const express = (options: CatalogOptions = {}) => {
  fresh += 1;
  const named = { tenant: `t${fresh}`, subscription: 'quick', breakerFailures: 5 };
  return insertCatalog(db, { ...named, lane: 'express', ...options });
};
const receives = (count: number, fixture: Awaited<ReturnType<typeof express>>) =>
  Promise.all(Array.from({ length: count }, () => receive(db, fixture)));
const broken: [string, string][] = [];
const claim = (tenant: string, limit = 10) =>
  claimExpress(db.as('waybill_data'), tenantId(tenant), {
    ...{ owner: 'loop', limit },
    onBroken: (id, error) => broken.push([id, String(error)]),
  });
const ids = (refs: readonly DeliveryRef[]) => refs.map((ref) => ref.deliveryId).sort();
const row = async (ref: DeliveryRef) => {
  const [found] = await db.rows(
    `select state, lane, driver, attempts, attend_at is null as over,
        attend_at < clock_timestamp() + interval '3 seconds' as soon, show_at is not null as unshown
      from waybill.deliveries where delivery_id = $1`,
    [ref.deliveryId],
  );
  return found;
};
const overdue = async (ref: DeliveryRef) => {
  await db.rows(
    `update waybill.deliveries set attend_at = clock_timestamp() where delivery_id = $1`,
    [ref.deliveryId],
  );
  const found = await claimUnattended(db.as('waybill_operations'), 1000, 0);
  return found.some(({ delivery_id: id }) => id === ref.deliveryId);
};
const workflowAsks = (ref: DeliveryRef) => openAttempt(db.as('waybill_data'), ref, 'workflow');

test('what is accepted waits for the loop and for no workflow, and its claim is its first attempt', async () => {
  const fixture = await express();
  const ref = await receive(db, fixture);
  expect(await row(ref)).toMatchObject({ state: 'Received', lane: 'express', driver: 'loop' });
  expect(await overdue(ref)).toBe(false);
  expect(await expressTenants(db.as('waybill_operations'), '', 100)).toContain(fixture.tenant);
  const [claimed, ...others] = await claim(fixture.tenant);
  expect(others).toEqual([]);
  expect(claimed).toMatchObject({
    ref,
    about: { connectorId: 'github', eventType: 'push', subscriptionId: 'quick' },
    opened: { answer: 'opened', info: { attempt: 1, firstCall: true, lane: 'express' } },
  });
  expect(await row(ref)).toMatchObject({ state: 'Dispatched', driver: 'loop', attempts: 1 });
  expect(await claim(fixture.tenant)).toEqual([]);
  expect(await expressTenants(db.as('waybill_operations'), '', 100)).not.toContain(fixture.tenant);
  // An owner that died: by its deadline its workflow is to be started.
  expect(await overdue(ref)).toBe(true);
});

test('loops that claim at once share the deliveries out, and none is claimed twice', async () => {
  const fixture = await express();
  const refs = await receives(30, fixture);
  const claims = await Promise.all(Array.from({ length: 6 }, () => claim(fixture.tenant, 7)));
  const got = claims.flat().map(({ ref }) => ref);
  expect(ids(got)).toEqual(ids(refs));
});

test('an acknowledged one is over; a refused one is given to its workflow, which is to be started soon', async () => {
  const fixture = await express();
  const [taken, refused] = await receives(2, fixture);
  if (taken === undefined || refused === undefined) throw new Error('two were received');
  await claim(fixture.tenant);
  const data = db.as('waybill_data');
  await closeAttempt(data, { ...taken, attempt: 1 }, ACKNOWLEDGED, receipt('acknowledged'));
  await closeAttempt(data, { ...refused, attempt: 1 }, retryIn(60_000), null);
  expect(await row(taken)).toMatchObject({ state: 'Acknowledged', driver: 'loop', over: true });
  expect(await row(refused)).toMatchObject({ state: 'Dispatched', driver: 'workflow', soon: true });
  const asked = await workflowAsks(refused);
  if (asked.answer !== 'not_due') throw new Error(asked.answer);
  expect(asked.info.dueInMs).toBeGreaterThan(55_000);
  // Its workflow knows now: nobody looks again before the attempt is due.
  expect(await row(refused)).toMatchObject({ soon: false });
});

test('one that failed for good is shown by a workflow: that is remembered until it has looked', async () => {
  const fixture = await express();
  const ref = await receive(db, fixture);
  await claim(fixture.tenant);
  const at = { ...ref, attempt: 1 };
  await closeAttempt(db.as('waybill_data'), at, REFUSED, receipt('failed'));
  expect(await row(ref)).toMatchObject({ state: 'Failed', driver: 'workflow', unshown: true });
  await db.rows(
    `update waybill.deliveries set show_at = clock_timestamp() where delivery_id = $1`,
    [ref.deliveryId],
  );
  const found = await claimUnshown(db.as('waybill_operations'), 100, 5_000);
  expect(found.map(({ delivery_id: id }) => id)).toEqual([ref.deliveryId]);
  expect(await claimUnshown(db.as('waybill_operations'), 100, 5_000)).toEqual([]);
  expect(await workflowAsks(ref)).toMatchObject({ answer: 'settled' });
  expect(await row(ref)).toMatchObject({ unshown: false });
});

test('a workflow that asks first has the delivery; one that asks later waits for the deadline', async () => {
  const fixture = await express();
  const [first, later] = await receives(2, fixture);
  if (first === undefined || later === undefined) throw new Error('two were received');
  expect(await workflowAsks(first)).toMatchObject({
    answer: 'opened',
    info: { driver: 'workflow' },
  });
  expect((await claim(fixture.tenant)).map(({ ref }) => ref)).toEqual([later]);
  const met = await workflowAsks(later);
  expect(met).toMatchObject({ answer: 'in_flight', info: { driver: 'loop', attempt: 1 } });
  await db.rows(
    `update waybill.delivery_attempts set deadline_at = clock_timestamp() where delivery_id = $1`,
    [later.deliveryId],
  );
  expect(await workflowAsks(later)).toMatchObject({
    ...{ answer: 'in_flight', info: { driver: 'workflow', endsInMs: 0 } },
  });
});

test('loop and workflow that ask at the same moment never have one delivery both', async () => {
  const fixture = await express();
  const refs = await receives(20, fixture);
  const [claimed, ...answers] = await Promise.all([
    claim(fixture.tenant, 20),
    ...refs.map((ref) => workflowAsks(ref)),
  ]);
  const opened = refs.filter((_, at) => answers[at]?.answer === 'opened');
  const looped = claimed.map(({ ref }) => ref);
  expect(ids([...opened, ...looped])).toEqual(ids(refs));
  const open = await db.rows(
    `select count(*)::integer as count, max(attempt_no) as newest from waybill.delivery_attempts
      where tenant_id = $1`,
    [fixture.tenant],
  );
  expect(open).toEqual([{ count: 20, newest: 1 }]);
});

test.each([
  ['a paused target', (tenant: string) => pauseTarget(tenant)],
  [
    'a paused subscription',
    (tenant: string) =>
      db.rows(`update waybill.subscriptions set state = 'paused' where tenant_id = $1`, [tenant]),
  ],
])('what %s holds is given to its workflow', async (_, pause) => {
  const fixture = await express();
  await pause(fixture.tenant);
  const ref = await receive(db, fixture);
  expect(await claim(fixture.tenant)).toMatchObject([{ opened: { answer: 'held' } }]);
  expect(await row(ref)).toMatchObject({ driver: 'workflow', attempts: 0, soon: true });
  expect(await claim(fixture.tenant)).toEqual([]);
});

test('what cannot be attempted is given to its workflow, to fail there', async () => {
  const fixture = await express();
  const ref = await receive(db, fixture);
  await db.rows(`update waybill.subscriptions set state = 'deactivated' where tenant_id = $1`, [
    fixture.tenant,
  ]);
  expect(await claim(fixture.tenant)).toMatchObject([{ opened: { answer: 'must_fail' } }]);
  expect(await row(ref)).toMatchObject({ state: 'Received', driver: 'workflow', soon: true });
});

test('a target gets no more than it has room for; the others wait for the loop and are not held', async () => {
  const fixture = await express();
  await db.rows(`update waybill.targets set max_in_flight = 3 where tenant_id = $1`, [
    fixture.tenant,
  ]);
  const refs = await receives(5, fixture);
  const first = await claim(fixture.tenant);
  expect(first.map(({ opened }) => opened.answer)).toEqual(['opened', 'opened', 'opened']);
  expect(await claim(fixture.tenant)).toEqual([]);
  const [done] = first;
  if (done === undefined) throw new Error('none was claimed');
  const at = { ...done.ref, attempt: 1 };
  await closeAttempt(db.as('waybill_data'), at, ACKNOWLEDGED, receipt('acknowledged'));
  expect(await claim(fixture.tenant)).toHaveLength(1);
  const waiting = await Promise.all(refs.map((ref) => storedDelivery(db, ref)));
  expect(waiting.filter(({ reason }) => reason !== null)).toEqual([]);
});

test('a claim takes few payloads that are large, and one that is larger than its bound', async () => {
  const fixture = await express();
  const next = await express({ tenant: fixture.tenant, subscription: 'next' });
  const large = (bytes: number, at = fixture) => receive(db, at, { payload: Buffer.alloc(bytes) });
  for (let nth = 0; nth < 3; nth += 1) await large(1_500_000);
  for (let nth = 0; nth < 3; nth += 1) await large(1_500_000, next);
  expect(await claim(fixture.tenant)).toHaveLength(3);
  expect(await claim(fixture.tenant)).toHaveLength(3);
  expect(await claim(fixture.tenant)).toEqual([]);
  await large(5_000_000);
  await receive(db, fixture);
  expect(await claim(fixture.tenant)).toHaveLength(1);
  expect(await claim(fixture.tenant)).toHaveLength(1);
});

test('a flood at one target leaves the share of the others, and what they leave over is used', async () => {
  const flooded = await express();
  const quiet = await express({ tenant: flooded.tenant, subscription: 'quiet' });
  await receives(20, flooded);
  const refs = await receives(2, quiet);
  const claimed = await claim(flooded.tenant, 8);
  expect(claimed).toHaveLength(8);
  const quiets = claimed.filter(({ about }) => about.subscriptionId === 'quiet');
  expect(ids(quiets.map(({ ref }) => ref))).toEqual(ids(refs));
});

const BAD = '{"bad":true}';

test.each([
  ['opened', 'delivery_attempts', (id: string) => `delivery_id = '${id}'`],
  // As a page that is torn: whoever reads the stored bytes gets an error.
  ['looked at', 'artifacts', () => `content = '${BAD}'`],
])('one that cannot be %s is given to its workflow, and holds up no other', async (...spoilt) => {
  const [, table, where] = spoilt;
  const fixture = await express();
  const bad = await receive(db, fixture, { payload: Buffer.from(BAD) });
  const good = await receives(3, fixture);
  await db.rows(
    `create policy spoilt on waybill.${table} as restrictive to waybill_data
      using (1 / case when ${where(bad.deliveryId)} then 0 else 1 end = 1)`,
  );
  const claimed = await claim(fixture.tenant);
  await db.rows(`drop policy spoilt on waybill.${table}`);
  expect(claimed.map(({ opened }) => opened.answer)).toEqual(good.map(() => 'opened'));
  expect(ids(claimed.map(({ ref }) => ref))).toEqual(ids(good));
  expect(broken.splice(0)).toEqual([[bad.deliveryId, expect.stringContaining('by zero')]]);
  expect(await row(bad)).toMatchObject({ state: 'Received', driver: 'workflow', soon: true });
  expect(await claim(fixture.tenant)).toEqual([]);
});

test('one whose target cannot be read holds up no other', async () => {
  const fixture = await express();
  const unreadable = await express({ tenant: fixture.tenant, subscription: 'unreadable' });
  await db.rows(`update waybill.targets set config = '{}' where target_id = 'unreadable-target'`);
  const [ref, bad] = [await receive(db, fixture), await receive(db, unreadable)];
  expect((await claim(fixture.tenant)).map((claimed) => claimed.ref)).toEqual([ref]);
  expect(broken.splice(0)).toMatchObject([[bad.deliveryId, expect.any(String)]]);
  // By its attempt's deadline its workflow is to be started.
  expect(await overdue(bad)).toBe(true);
});

test('a subscription that changes its lane changes nothing of what it has accepted', async () => {
  const fixture = await express();
  const before = await receive(db, fixture);
  const change = (lane: string) =>
    db.rows(`update waybill.subscriptions set lane = $2 where tenant_id = $1`, [
      fixture.tenant,
      lane,
    ]);
  await change('durable');
  const between = await receive(db, fixture);
  await change('express');
  expect(await row(between)).toMatchObject({ lane: 'durable', driver: 'workflow' });
  expect(await overdue(between)).toBe(true);
  expect((await claim(fixture.tenant)).map(({ ref }) => ref)).toEqual([before]);
});

function pauseTarget(tenant: string) {
  const who = { actor: 'ada', reason: 'maintenance' };
  const at = { tenantId: tenantId(tenant), id: 'quick-target', pause: true };
  return switchTarget(db.as('waybill_data'), { ...at, ...who });
}
