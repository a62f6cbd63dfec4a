/**
 * A tenant whose targets hang beside one whose target works, on one worker with few slots: a real
 * Temporal server, a real Postgres and real HTTP targets. In both lanes, side by side. Doubled: nothing.
 */
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { LANES, type Lane } from '../../src/domain/lanes';
import { DeliveryRig } from '../support/delivery-rig';
import { until } from '../support/until';

/** What the worker's activities make at once, and the share of one tenant. */
const SLOTS = 8;
const SHARE = 6;
const HANGS_MS = 6_000;

let rig: DeliveryRig;
beforeAll(async () => {
  rig = await DeliveryRig.start();
  await rig.work({ slots: SLOTS });
});
afterAll(() => rig.stop());

test('a tenant with many targets that hang leaves the others their room', async () => {
  // With the first catalog come the settings.
  await rig.catalog({ tenant: 'first' });
  await rig.db.rows(`update waybill.settings set tenant_in_flight = $1`, [SHARE]);
  rig.receiver.decide = ({ path }) => (path.startsWith('/hang') ? 'hang' : null);
  const ends = await Promise.all(LANES.map(leavesRoom));
  rig.receiver.decide = () => null;
  for (const ref of ends.flat()) await rig.reaches(ref, 'Acknowledged');
});

/** Answers those that hang, or wait for one that does. */
async function leavesRoom(lane: Lane): Promise<DeliveryRef[]> {
  const tenant = `hanging-${lane}`;
  const hangingAt = (path: string) => ({ targetUrl: `${rig.receiver.url}/hang/${lane}/${path}` });
  const hanging = [];
  for (const subscription of ['a', 'b', 'c', 'd', 'e']) {
    const options = { lane, tenant, subscription, timeoutMs: HANGS_MS };
    hanging.push(await rig.catalog({ ...options, ...hangingAt(subscription) }));
  }
  const refs = await Promise.all(
    hanging.flatMap((fixture) => Array.from({ length: 4 }, () => rig.deliver(fixture))),
  );
  const sent = () =>
    rig.receiver.calls.filter(({ path }) => path.startsWith(`/hang/${lane}/`)).length;
  await until('its share is used up', () => Promise.resolve(sent() >= SHARE ? true : null));
  await until('the others wait for it', async () => {
    // At their gates, or for the loop.
    const rows = await rig.db.rows(
      `select from waybill.deliveries where tenant_id = $1
        and (detail = 'tenant_busy' or (driver = 'loop' and state = 'Received'))`,
      [tenant],
    );
    return rows.length === refs.length - SHARE ? true : null;
  });
  expect(sent()).toBe(SHARE);

  const healthy = await rig.catalog({ lane, tenant: `healthy-${lane}` });
  const others = await Promise.all(Array.from({ length: 5 }, () => rig.deliver(healthy)));
  for (const ref of others) await rig.reaches(ref, 'Acknowledged');
  // None of those that hang has ended in between: the next one would have been sent.
  expect(sent()).toBe(SHARE);
  return refs;
}
