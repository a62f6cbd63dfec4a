/**
 * A tenant whose targets hang beside one whose target works, on one worker with few slots: a real
 * Temporal server, a real Postgres and real HTTP targets. Doubled: nothing.
 */
import { DeliveryRig } from '../support/delivery-rig';
import { until } from '../support/until';

/** What the worker makes at once, and the share of one tenant. */
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
  const hangingAt = (path: string) => ({ targetUrl: `${rig.receiver.url}/hang/${path}` });
  const hanging = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map((subscription) =>
      rig.catalog({ subscription, timeoutMs: HANGS_MS, ...hangingAt(subscription) }),
    ),
  );
  await rig.db.rows(`update waybill.settings set tenant_in_flight = $1`, [SHARE]);
  rig.receiver.decide = ({ path }) => (path.startsWith('/hang') ? 'hang' : null);
  const waiting = await Promise.all(
    hanging.flatMap((fixture) => Array.from({ length: 4 }, () => rig.deliver(fixture))),
  );
  const sent = () => rig.receiver.calls.filter(({ path }) => path.startsWith('/hang')).length;
  await until('its share is used up', () => Promise.resolve(sent() >= SHARE ? true : null));
  await until('the others wait for it', async () => {
    const rows = await rig.db.rows(`select from waybill.deliveries where detail = 'tenant_busy'`);
    return rows.length === waiting.length - SHARE ? true : null;
  });
  expect(sent()).toBe(SHARE);

  const healthy = await rig.catalog({ tenant: 'globex', subscription: 'healthy' });
  const refs = await Promise.all(Array.from({ length: 5 }, () => rig.deliver(healthy)));
  for (const ref of refs) await rig.reaches(ref, 'Acknowledged');
  // None of those that hang has ended in between: the next one would have been sent.
  expect(sent()).toBe(SHARE);

  rig.receiver.decide = () => null;
  for (const ref of waiting) await rig.reaches(ref, 'Acknowledged');
});
