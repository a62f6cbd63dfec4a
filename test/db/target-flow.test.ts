/**
 * Pauses, drain rates and room at a target in a real Postgres, as the roles that use them. Targets are
 * not called here; outcomes are given.
 */
import { BEFORE_ALL_GATES, releaseGated } from '../../src/db/deliveries';
import { switchSubscription, switchTarget } from '../../src/db/target-flow';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import { LANES } from '../../src/domain/lanes';
import { insertCatalog } from '../support/catalog-fixture';
import { receive, storedDelivery } from '../support/stored-deliveries';
import { ACME, TargetFlow, WHO } from '../support/target-flows';
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

describe('a paused target', () => {
  test('opens nothing, and what was under way ends as it ends', async () => {
    const early = await flow.receive();
    const no = await flow.begins(early);
    expect([await flow.switch(true), await flow.switch(true)]).toEqual(['changed', 'unchanged']);
    expect(await flow.why(await flow.receive())).toBe('target_paused');
    await flow.ends(early, no, 'answers');
    expect(await storedDelivery(db, early)).toMatchObject({ state: 'Acknowledged' });
  });

  test('holds fifty attempts that begin while it is switched: each is made or waits', async () => {
    await flow.change('max_in_flight = 100');
    const refs = await flow.receives(50);
    const [answers] = await Promise.all([
      Promise.all(refs.map((ref) => flow.why(ref))),
      flow.switch(true),
    ]);
    expect(answers.filter((one) => one !== 'opened' && one !== 'target_paused')).toEqual([]);
    const [row] = await db.rows<{ opened: number; waiting: number }>(
      `select count(*) filter (where state = 'Dispatched')::integer as opened,
          count(*) filter (where gate = $2)::integer as waiting
        from waybill.deliveries where subscription_id = $1`,
      [flow.fixture.subscription, `target/${flow.target}`],
    );
    expect((row?.opened ?? 0) + (row?.waiting ?? 0)).toBe(50);
  });

  test.each(LANES)('drains at its rate once it is resumed, the oldest first (%s)', async (lane) => {
    await flow.lane(lane);
    await flow.change('drain_per_second = 4');
    await flow.switch(true);
    const why = await flow.whyEach(await flow.receives(10), lane);
    expect(why).toEqual(Array(10).fill('target_paused'));
    expect(await flow.release()).toBe(0);
    await flow.switch(false);
    expect([await flow.release(), await flow.release()]).toEqual([4, 0]);
    const first = (await flow.released()).sort();
    const oldest = await db.rows<{ delivery_id: string }>(
      `select delivery_id from waybill.deliveries where subscription_id = $1
        order by received_at, delivery_id limit 4`,
      [flow.fixture.subscription],
    );
    expect(first).toEqual(oldest.map((row) => row.delivery_id).sort());
    const [turn] = await db.rows<{ ms: number }>(
      `select round(1000 * extract(epoch from next_at - clock_timestamp()))::integer as ms
        from waybill.gate_turns where gate = $1`,
      [`target/${flow.target}`],
    );
    // Four turns of a quarter second were saved up; the next ones come one by one.
    expect(turn?.ms).toBeLessThanOrEqual(0);
    expect(turn?.ms).toBeGreaterThan(-1_000);
  });

  test.each(LANES)(
    'lets what waits say that its turn comes, and what is new go at once (%s)',
    async (lane) => {
      await flow.lane(lane);
      await flow.switch(true);
      const waiting = await flow.receive();
      await flow.whyEach([waiting], lane);
      await flow.switch(false);
      expect(await flow.why(waiting)).toBe('draining');
      expect(await flow.whyEach([await flow.receive()], lane)).toEqual(['opened']);
      expect(await flow.release()).toBe(1);
      expect(await flow.why(waiting)).toBe('opened');
    },
  );

  test('is audited with who and why', async () => {
    await flow.switch(true);
    await flow.switch(false);
    const rows = await db.rows(
      `select actor, action, detail from waybill.audit_log where subject = $1 order by audit_id`,
      [`target/${flow.target}`],
    );
    expect(rows).toEqual([
      { actor: 'ada', action: 'pause', detail: { reason: 'maintenance' } },
      { actor: 'ada', action: 'resume', detail: { reason: 'maintenance' } },
    ]);
  });

  test('of another tenant is unknown', async () => {
    expect(await flow.switch(true, tenantId('globex'))).toBe('unknown');
    expect(await flow.state()).toBeUndefined();
  });
});

describe('a paused subscription', () => {
  const switched = (on: boolean, id = flow.fixture.subscription) =>
    switchSubscription(db.as('waybill_data'), { tenantId: ACME, id, pause: on, ...WHO });

  test.each(LANES)('collects, and drains at its own rate once it is resumed (%s)', async (lane) => {
    await flow.lane(lane);
    await db.rows(
      `update waybill.subscriptions set drain_per_second = 2 where subscription_id = $1`,
      [flow.fixture.subscription],
    );
    expect([await switched(true), await switched(true)]).toEqual(['changed', 'unchanged']);
    const why = await flow.whyEach(await flow.receives(5), lane);
    expect(why).toEqual(Array(5).fill('paused'));
    expect(await flow.release()).toBe(0);
    expect([await switched(false), await switched(false)]).toEqual(['changed', 'unchanged']);
    expect([await flow.release(), await flow.release()]).toEqual([2, 0]);
  });

  test('tells of both changes with events in order, and is audited', async () => {
    await switched(true);
    await switched(false);
    const events = await db.rows(
      `select aggregate_seq as seq, payload->'active' as active from waybill.outbox_events
        where aggregate = $1 order by 1`,
      [`subscription/${flow.fixture.subscription}`],
    );
    expect(events).toEqual([
      { seq: 1, active: false },
      { seq: 2, active: true },
    ]);
    const audited = await db.rows(
      `select action from waybill.audit_log where subject = $1 order by audit_id`,
      [`subscription/${flow.fixture.subscription}`],
    );
    expect(audited).toEqual([{ action: 'pause' }, { action: 'resume' }]);
  });

  test('that is deactivated stays so, and one of another tenant is unknown', async () => {
    await db.rows(
      `update waybill.subscriptions set state = 'deactivated' where subscription_id = $1`,
      [flow.fixture.subscription],
    );
    expect(await switched(false)).toBe('deactivated');
    expect(await switched(true, 'nobody')).toBe('unknown');
  });
});

describe('a busy target', () => {
  test('has as many attempts under way as it takes, however many begin at once', async () => {
    await flow.change('max_in_flight = 3');
    const answers = await Promise.all((await flow.receives(12)).map((ref) => flow.why(ref)));
    expect(answers.filter((one) => one === 'opened')).toHaveLength(3);
    expect(answers.filter((one) => one === 'target_busy')).toHaveLength(9);
    expect(await flow.release()).toBe(0);
  });

  test('takes the next ones as soon as it has room', async () => {
    await flow.change('max_in_flight = 1');
    const [first, second] = (await flow.receives(2)) as [DeliveryRef, DeliveryRef];
    const no = await flow.begins(first);
    expect(await flow.why(second)).toBe('target_busy');
    await flow.ends(first, no, 'answers');
    expect(await flow.release()).toBe(1);
    expect(await flow.why(second)).toBe('opened');
  });

  test('has one room for what both lanes send it', async () => {
    await flow.change('max_in_flight = 3');
    const [first, second] = (await flow.receives(2)) as [DeliveryRef, DeliveryRef];
    const no = await flow.begins(first);
    await flow.lane('express');
    await flow.receives(5);
    expect(await flow.claims(10)).toHaveLength(2);
    expect(await flow.claims(10)).toEqual([]);
    expect(await flow.why(second)).toBe('target_busy');
    await flow.ends(first, no, 'answers');
    expect(await flow.claims(10)).toHaveLength(1);
  });

  test('does not hold up another one of the same tenant', async () => {
    await flow.change('max_in_flight = 1');
    await Promise.all((await flow.receives(3)).map((ref) => flow.why(ref)));
    const other = await insertCatalog(db, { subscription: `other${count}` });
    expect(await flow.why(await receive(db, other))).toBe('opened');
  });

  test('that is paused meanwhile holds what waits for room, without waking it', async () => {
    await flow.change('max_in_flight = 1');
    await Promise.all((await flow.receives(3)).map((ref) => flow.why(ref)));
    await flow.switch(true);
    expect(await flow.release()).toBe(0);
    const rows = await db.rows(`select detail from waybill.deliveries where gate = $1`, [
      `target/${flow.target}`,
    ]);
    expect(rows).toEqual([{ detail: 'target_paused' }, { detail: 'target_paused' }]);
  });
});

test('two loops at once release no more than one would', async () => {
  await flow.change('drain_per_second = 5');
  await flow.switch(true);
  for (const ref of await flow.receives(20)) await flow.why(ref);
  await flow.switch(false);
  const counts = await Promise.all(Array.from({ length: 4 }, () => flow.release()));
  expect(counts.reduce((sum, one) => sum + one, 0)).toBe(5);
});

test('a thousand that wait at one target do not hold up the release of another', async () => {
  await flow.change('drain_per_second = 1000');
  await flow.switch(true);
  for (const ref of await flow.receives(60)) await flow.why(ref);
  const other = await insertCatalog(db, { subscription: `z${count}` });
  const at = { tenantId: ACME, id: other.subscription, ...WHO };
  await switchSubscription(db.as('waybill_data'), { ...at, pause: true });
  const late = await receive(db, other);
  await flow.why(late);
  await switchSubscription(db.as('waybill_data'), { ...at, pause: false });
  await flow.switch(false);
  await flow.release(20);
  await flow.release(20);
  await flow.release(20);
  await flow.release(20);
  expect(await flow.why(late)).toBe('opened');
});

test('gates that stay closed, however many, do not keep the others from their round', async () => {
  const closed = await Promise.all(
    ['a', 'b'].map((name) => insertCatalog(db, { subscription: `${name}${count}` })),
  );
  for (const { subscription } of closed) {
    const wish = { tenantId: ACME, id: `${subscription}-target`, pause: true, ...WHO };
    await switchTarget(db.as('waybill_data'), wish);
  }
  for (const fixture of closed) await flow.why(await receive(db, fixture));
  await flow.switch(true);
  const ref = await flow.receive();
  await flow.why(ref);
  await flow.switch(false);
  let after = BEFORE_ALL_GATES;
  const released = [];
  for (let round = 0; round < 4; round += 1) {
    const answer = await releaseGated(db.as('waybill_operations'), 100, after, 1);
    released.push(answer.released);
    after = answer;
  }
  expect(released).toEqual([0, 0, 1, 0]);
  expect(after).toMatchObject(BEFORE_ALL_GATES);
});
