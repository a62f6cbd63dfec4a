/**
 * The loop of the express lane when it stops, and while Temporal does not answer. Real: Postgres, the
 * target. Doubled: the start of a workflow, which hangs.
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
