/**
 * Deliveries that wait for their target: breaker, pauses and room, and the end of their connection, on a real
 * Temporal server, a real Postgres and a real HTTP target. Nobody polls here: what waits is woken. Doubled:
 * nothing.
 */
import { switchSubscription, switchTarget } from '../../src/db/target-flow';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import { LANES } from '../../src/domain/lanes';
import { CONNECTION_STATE_CHANGED } from '../../src/schemas/api-connection-events';
import { takeConnectionReport } from '../../src/services/connection-reports';
import { DeliveryRig } from '../support/delivery-rig';
import type { CatalogFixture } from '../support/catalog-fixture';
import { QUICK_RETRY } from '../support/catalog-fixture';
import { until } from '../support/until';

let rig: DeliveryRig;
beforeAll(async () => {
  rig = await DeliveryRig.start();
  await rig.work();
});
afterAll(async () => {
  await rig.stop();
});
beforeEach(() => {
  rig.receiver.otherwise = { status: 200, body: 'ok' };
});

/** Much longer than a test: whatever goes on was woken. */
const UNPOLLED = { heldPollMs: 600_000 };
const ACME = tenantId('acme');
const WHO = { actor: 'ada', reason: 'maintenance' };

const targetOf = ({ subscription }: CatalogFixture) => `${subscription}-target`;
const switched = (fixture: CatalogFixture, pause: boolean) =>
  switchTarget(rig.services.data, { tenantId: ACME, id: targetOf(fixture), pause, ...WHO });
const held = (ref: DeliveryRef, why: string) =>
  until(`it is held by ${why}`, async () => {
    const [row] = await rig.db.rows<{ detail: string }>(
      `select detail from waybill.deliveries where delivery_id = $1 and reason = 'held'`,
      [ref.deliveryId],
    );
    return row?.detail === why ? true : null;
  });

describe.each(LANES)('in the lane %s', (lane) => {
  test('an open breaker defers: nothing is sent, no attempt is used, and an answer to its probe ends it', async () => {
    const fixture = await rig.catalog({
      ...{ lane, subscription: `${lane}-broken`, breakerFailures: 5 },
      retry: { ...QUICK_RETRY, attempts: 6, backoff: { kind: 'list', delaysMs: [20] } },
    });
    rig.receiver.otherwise = { status: 503 };
    const first = await rig.deliver(fixture, UNPOLLED);
    await held(first, 'breaker_open');
    expect(await rig.row(first)).toMatchObject({ state: 'Dispatched', attempts: 5 });
    await rig.says(first, /Held.*its target failed several times in a row/);
    const second = await rig.deliver(fixture, UNPOLLED);
    await held(second, 'breaker_open');
    expect(await rig.row(second)).toMatchObject({ state: 'Verified', attempts: 0 });
    expect(rig.receiver.of(second.deliveryId)).toHaveLength(0);

    rig.receiver.otherwise = { status: 200 };
    await rig.db.rows(
      `update waybill.target_states set open_until = clock_timestamp() where target_id = $1`,
      [targetOf(fixture)],
    );
    expect(await rig.reaches(first, 'Acknowledged')).toMatchObject({ attempts: 6 });
    expect(await rig.reaches(second, 'Acknowledged')).toMatchObject({ attempts: 1 });
  });

  test('deliveries of a paused target are accepted and wait, and go on when it is resumed', async () => {
    const fixture = await rig.catalog({ lane, subscription: `${lane}-paused` });
    await switched(fixture, true);
    const refs = [await rig.deliver(fixture, UNPOLLED), await rig.deliver(fixture, UNPOLLED)];
    for (const ref of refs) await held(ref, 'target_paused');
    await rig.says(refs[0] as DeliveryRef, /its target is paused.*waybill targets resume/);
    await switched(fixture, false);
    for (const ref of refs) await rig.reaches(ref, 'Acknowledged');
  });

  test('a target that is paused during an attempt keeps its answer, and the retry waits', async () => {
    const fixture = await rig.catalog({ lane, subscription: `${lane}-between`, timeoutMs: 400 });
    rig.receiver.answers.push('hang');
    const seen = rig.receiver.calls.length;
    const ref = await rig.deliver(fixture, UNPOLLED);
    await rig.receiver.seen(seen + 1);
    await switched(fixture, true);
    await held(ref, 'target_paused');
    expect(await rig.row(ref)).toMatchObject({ attempts: 1 });
    await switched(fixture, false);
    expect(await rig.reaches(ref, 'Acknowledged')).toMatchObject({ attempts: 2 });
  });

  test('a paused subscription collects, and its deliveries are woken when it is resumed', async () => {
    const fixture = await rig.catalog({ lane, subscription: `${lane}-collecting` });
    const at = { tenantId: ACME, id: fixture.subscription, ...WHO };
    await switchSubscription(rig.services.data, { ...at, pause: true });
    const ref = await rig.deliver(fixture, UNPOLLED);
    await held(ref, 'paused');
    await switchSubscription(rig.services.data, { ...at, pause: false });
    await rig.reaches(ref, 'Acknowledged');
  });

  test('a target that hangs has no more attempts under way than it takes, and holds up no other one', async () => {
    const hanging = await rig.catalog({
      lane,
      subscription: `${lane}-hanging`,
      targetUrl: `${rig.receiver.url}/hang-${lane}`,
      timeoutMs: 600,
    });
    await rig.db.rows(`update waybill.targets set max_in_flight = 2 where target_id = $1`, [
      targetOf(hanging),
    ]);
    rig.receiver.otherwise = 'hang';
    const refs = await Promise.all(Array.from({ length: 6 }, () => rig.deliver(hanging, UNPOLLED)));
    const sent = () => rig.receiver.calls.filter(({ path }) => path === `/hang-${lane}`).length;
    await until('its room is taken', () => Promise.resolve(sent() === 2 ? true : null));
    await until('the others wait', async () => {
      // At its gate, or for the loop: neither has used an attempt.
      const rows = await rig.db.rows(
        `select from waybill.deliveries where attempts = 0
          and (gate = $1 or (driver = 'loop' and subscription_id = $2))`,
        [`busy/${targetOf(hanging)}`, hanging.subscription],
      );
      return rows.length === 4 ? true : null;
    });
    expect(sent()).toBe(2);
    rig.receiver.otherwise = { status: 200 };
    const other = await rig.catalog({ lane, subscription: `${lane}-healthy` });
    await rig.reaches(await rig.deliver(other, UNPOLLED), 'Acknowledged');
    for (const ref of refs) await rig.reaches(ref, 'Acknowledged');
  });

  test('what is pending of a revoked connection fails for that, wherever it waits, and nothing more is sent', async () => {
    const tenant = `revoked-${lane}`;
    const slow = { ...QUICK_RETRY, backoff: { kind: 'list', delaysMs: [600_000] } } as const;
    const subscribe = (subscription: string) =>
      rig.catalog({ lane, tenant, subscription, retry: slow, timeoutMs: 1_000 });
    const [retried, paused, busy] = [
      await subscribe('retried'),
      await subscribe('paused'),
      await subscribe('busy'),
    ];
    rig.receiver.answers.push({ status: 503 });
    const due = await rig.deliver(retried, UNPOLLED);
    await until('its next attempt is not due', async () =>
      (await rig.row(due)).reason === 'status_refused' ? true : null,
    );
    const pause = { tenantId: tenantId(tenant), id: targetOf(paused), pause: true, ...WHO };
    await switchTarget(rig.services.data, pause);
    const waiting = await rig.deliver(paused, UNPOLLED);
    await held(waiting, 'target_paused');
    await rig.db.rows(`update waybill.targets set max_in_flight = 1 where tenant_id = $1`, [
      tenant,
    ]);
    rig.receiver.otherwise = 'hang';
    const seen = rig.receiver.calls.length;
    const underWay = await rig.deliver(busy, UNPOLLED);
    await rig.receiver.seen(seen + 1);
    // Behind it: in the express lane for the loop, which has not claimed it.
    const behind = await rig.deliver(busy, UNPOLLED);

    const report = { connectionId: 'main', state: 'revoked', version: 1 } as const;
    const about = { specversion: '1.0', type: CONNECTION_STATE_CHANGED } as const;
    const event = { ...about, id: lane, source: '/connections', data: report };
    const control = rig.db.as('waybill_control');
    expect(await takeConnectionReport(control, tenantId(tenant), event, 'ada')).toBe('applied');
    const sent = new Map([
      [due, 1],
      [waiting, 0],
      [underWay, 1],
      [behind, 0],
    ]);
    for (const [ref, attempts] of sent) {
      const row = await rig.reaches(ref, 'Failed');
      expect(row).toMatchObject({ attempts, reason: 'instance_revoked', receipt_seq: 1 });
      expect(rig.receiver.of(ref.deliveryId)).toHaveLength(attempts);
      await rig.says(ref, /the instance was revoked/);
    }
  });
});
