/**
 * The loop of the express lane when it stops, while Temporal does not answer, and beside a tenant that takes
 * all it can. Real: Postgres, the targets. Doubled: the start of a workflow, which hangs.
 */
import { DeliveryRig } from '../../support/delivery-rig';
import { until } from '../../support/until';

let rig: DeliveryRig;
beforeAll(async () => {
  rig = await DeliveryRig.start();
});
afterAll(() => rig.stop());

test('starts that hang hold neither the slots nor the stop', async () => {
  const fixture = await rig.catalog({ lane: 'express' });
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
});
