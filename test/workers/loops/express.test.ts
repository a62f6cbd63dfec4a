/**
 * The loop of the express lane when it stops, while Temporal does not answer, and beside a tenant that takes
 * all it can. Real: Postgres, the targets. Doubled: the start of a workflow, which hangs.
 */
import type { DeliveryRef } from '../../../src/domain/delivery-activities';
import { DeliveryRig, type DeliveryRow } from '../../support/delivery-rig';
import { leaseOver, nextAttempt } from '../../support/next-attempt';
import { until } from '../../support/until';

let rig: DeliveryRig;
beforeAll(async () => {
  rig = await DeliveryRig.start();
});
afterAll(() => rig.stop());

test('starts that hang hold neither the slots nor the stop', async () => {
  const fixture = await rig.catalog({ lane: 'express', timeoutMs: 30_000 });
  rig.receiver.otherwise = { status: 404 };
  await Promise.all(Array.from({ length: 101 }, () => rig.accept(fixture)));
  let started = 0;
  const start = () => {
    started += 1;
    return new Promise<void>(() => undefined);
  };
  const lane = rig.expressLane({ start });
  await until('all were attempted and handed over', async () => {
    await lane.round();
    return started === 101 ? true : null;
  });
  const stopped = performance.now();
  await lane.drain(60_000);
  expect(performance.now() - stopped).toBeLessThan(5_000);
  expect(await rig.db.rows('select distinct state from waybill.deliveries')).toEqual([
    { state: 'Failed' },
  ]);
});

test('a loop that stops claims nothing more', async () => {
  const fixture = await rig.catalog({ lane: 'express', tenant: 'globex' });
  const ref = await rig.accept(fixture);
  const stopping = new AbortController();
  const lane = rig.expressLane({ signal: stopping.signal });
  stopping.abort();
  expect(await lane.round()).toBe(false);
  await lane.drain(0);
  expect(await rig.row(ref)).toMatchObject({ state: 'Received', attempts: 0 });
});

test('whom a notice tells of goes first, and every ninth round looks at all, whoever is told of meanwhile', async () => {
  const [told, other] = [
    await rig.catalog({ lane: 'express', tenant: 'told' }),
    await rig.catalog({ lane: 'express', tenant: 'untold' }),
  ];
  const lane = rig.expressLane();
  const waiting = await rig.accept(other);
  const roundOfTold = async () => {
    const ref = await rig.accept(told);
    lane.notice(ref.tenantId);
    expect(await lane.round()).toBe(true);
    return await rig.row(ref);
  };
  for (let round = 1; round <= 8; round += 1)
    expect(await roundOfTold()).toMatchObject({ attempts: 1 });
  expect(await rig.row(waiting)).toMatchObject({ state: 'Received', attempts: 0 });
  await roundOfTold();
  expect(await rig.row(waiting)).toMatchObject({ attempts: 1 });
  await lane.drain(10_000);
});

test('a flood of one tenant at targets that hang leaves the others their share of each round', async () => {
  const hangs = { targetUrl: `${rig.receiver.url}/hang`, timeoutMs: 60_000 };
  const at = { lane: 'express', tenant: 'flooding', ...hangs } as const;
  const flooding = [
    await rig.catalog({ ...at, subscription: 'one' }),
    await rig.catalog({ ...at, subscription: 'other' }),
  ];
  const quiet = await rig.catalog({ lane: 'express', tenant: 'quiet' });
  rig.receiver.otherwise = { status: 200 };
  rig.receiver.decide = ({ path }) => (path === '/hang' ? 'hang' : null);
  await Promise.all(flooding.flatMap((to) => Array.from({ length: 45 }, () => rig.accept(to))));
  const lane = rig.expressLane();
  for (let round = 0; round < 3; round += 1) {
    const refs = [await rig.accept(quiet), await rig.accept(quiet)];
    await lane.round();
    for (const ref of refs) await rig.reaches(ref, 'Acknowledged');
  }
  const [row] = await rig.db.rows(
    `select count(*) filter (where state = 'Dispatched')::integer as "underWay",
        count(*) filter (where state = 'Received' and driver = 'loop')::integer as waiting
      from waybill.deliveries where tenant_id = 'flooding'`,
  );
  // Its tenant's share of what is under way; the others are not held and have used no attempt.
  expect(row).toEqual({ underWay: 75, waiting: 15 });
  await lane.drain(0);
  rig.receiver.decide = () => null;
});

test('while one slot is left, who waits has it before more of whoever has just had it', async () => {
  const hangs = {
    lane: 'express',
    targetUrl: `${rig.receiver.url}/hang`,
    timeoutMs: 60_000,
  } as const;
  rig.receiver.otherwise = { status: 200 };
  rig.receiver.decide = ({ path }) => (path === '/hang' ? 'hang' : null);
  const lane = rig.expressLane();
  // What others have left waiting is not for this one.
  await rig.db.rows(`update waybill.deliveries set driver = 'workflow' where driver = 'loop'`);
  for (const tenant of ['hanging-1', 'hanging-2', 'hanging-3']) {
    const to = await rig.catalog({ tenant, ...hangs });
    await Promise.all(Array.from({ length: 33 }, () => rig.accept(to)));
  }
  await until('one slot is left', async () => {
    await lane.round();
    const open = await rig.db.rows(
      `select from waybill.deliveries where tenant_id like 'hanging-%' and state = 'Dispatched'`,
    );
    return open.length === 99 ? true : null;
  });
  const quick = await rig.catalog({ lane: 'express', tenant: 'quick' });
  const [first, second] = [await rig.accept(quick), await rig.accept(quick)];
  const other = await rig.accept(await rig.catalog({ lane: 'express', tenant: 'other' }));
  lane.notice(first.tenantId);
  lane.notice(other.tenantId);
  await until('the other one has had it', async () => {
    await lane.round();
    return (await rig.row(other)).attempts === 1 ? true : null;
  });
  expect(await rig.row(first)).toMatchObject({ attempts: 1 });
  expect(await rig.row(second)).toMatchObject({ attempts: 0 });
  await lane.drain(0);
  rig.receiver.decide = () => null;
});

test('what found no room goes when there is some, beside a tenant that always has something', async () => {
  const busy = await rig.catalog({ lane: 'express', tenant: 'busy' });
  const at = { targetUrl: `${rig.receiver.url}/hang`, timeoutMs: 500 };
  const narrow = await rig.catalog({ lane: 'express', tenant: 'narrow', ...at });
  await rig.db.rows(`update waybill.targets set max_in_flight = 1 where tenant_id = 'narrow'`);
  rig.receiver.otherwise = { status: 200 };
  rig.receiver.decide = ({ path }) => (path === '/hang' ? 'hang' : null);
  const lane = rig.expressLane({ start: () => Promise.resolve() });
  const [first, second] = [await rig.accept(narrow), await rig.accept(narrow)];
  const rounds = async (count: number) => {
    for (let round = 0; round < count; round += 1) {
      const { tenantId: told } = await rig.accept(busy);
      lane.notice(told);
      await lane.round();
    }
  };
  lane.notice(first.tenantId);
  await rounds(2);
  expect(await rig.row(second)).toMatchObject({ attempts: 0 });
  await until('the first one has ended', async () =>
    (await rig.row(first)).reason === null ? null : true,
  );
  await rounds(3);
  expect(await rig.row(second)).toMatchObject({ attempts: 1 });
  await lane.drain(0);
  rig.receiver.decide = () => null;
});

test('connections that break while it claims and closes lose no delivery, and make no attempt twice', async () => {
  const fixture = await rig.catalog({ lane: 'express', tenant: 'broken', timeoutMs: 30_000 });
  const refs = await Promise.all(Array.from({ length: 60 }, () => rig.accept(fixture)));
  const lane = rig.expressLane({ start: () => Promise.resolve() });
  const load = { busy: true };
  const work = until('all are claimed', async () => {
    // As the loop does, which goes on after a round that failed.
    await lane.round().catch(() => undefined);
    const waiting = await rig.db.rows(
      `select from waybill.deliveries where tenant_id = 'broken' and state = 'Received'`,
    );
    return waiting.length === 0 ? true : null;
  }).finally(() => {
    load.busy = false;
  });
  let deaths = 0;
  while (load.busy && deaths < 30) deaths += await breakOne();
  await work;
  await lane.drain(20_000);
  expect(deaths).toBeGreaterThan(0);
  for (const ref of refs) {
    const row = await throughItsWorkflow(ref);
    // An attempt whose claimer never heard of it is no call.
    const sent = rig.receiver.of(ref.deliveryId).map(({ headers }) => headers['waybill-attempt']);
    expect(new Set(sent).size).toBe(sent.length);
    expect(sent).toContain(String(row.attempts));
    expect(await rig.events(ref)).toEqual(['delivery-received', 'delivery-dispatched']);
    expect(await rig.receipts(ref)).toHaveLength(1);
  }
});

/** Breaks the connection of one call that is under way; answers how many it were. */
async function breakOne(): Promise<number> {
  const killed = await rig.db.rows(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'waybill-test'
        and state = 'active' order by random() limit 1`,
  );
  return killed.length;
}

/** What a claim whose answer was lost has left open is its workflow's, by its time. */
async function throughItsWorkflow(ref: DeliveryRef): Promise<DeliveryRow> {
  while ((await rig.row(ref)).state !== 'Acknowledged') {
    await leaseOver(rig.db, ref);
    await nextAttempt(rig, ref);
  }
  return rig.row(ref);
}
