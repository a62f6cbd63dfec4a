/**
 * What attempts and replays count: the real services over a real Postgres and a real HTTP target,
 * in both lanes and without workflows. Verdicts come from the exposition text.
 */
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { LANES } from '../../src/domain/lanes';
import type { AttemptServices } from '../../src/services/attempt-services';
import { decideReplay } from '../../src/services/replays';
import type { Telemetry } from '../../src/telemetry/telemetry';
import { createTelemetry } from '../../src/telemetry/telemetry';
import type { CatalogFixture } from '../support/catalog-fixture';
import { QUICK_RETRY } from '../support/catalog-fixture';
import { DeliveryRig } from '../support/delivery-rig';
import { nextAttempt } from '../support/next-attempt';

const AT_ONCE = { ...QUICK_RETRY, attempts: 2, backoff: { kind: 'list', delaysMs: [0] } } as const;
const WHO = { replayedBy: 'ada', reason: 'target repaired' };

let rig: DeliveryRig;
let fixture: CatalogFixture;
let telemetry: Telemetry;
let services: AttemptServices;

beforeAll(async () => {
  rig = await DeliveryRig.start();
});
afterAll(async () => {
  await rig.stop();
});
beforeEach(() => {
  telemetry = createTelemetry({ service: 'waybill-test' });
  services = { ...rig.services, metrics: telemetry.deliveries };
  rig.receiver.otherwise = { status: 200 };
});

const attempt = (ref: DeliveryRef) => nextAttempt(rig, ref, { services });

/** Count by state. */
async function states(): Promise<Record<string, number>> {
  const found = (await telemetry.text()).matchAll(/_deliveries_total\{.*state="(\w+)"\} (\d+)/g);
  return Object.fromEntries([...found].map((one) => [String(one[1]), Number(one[2])] as const));
}

async function latency(): Promise<{ readonly count: number; readonly sumS: number }> {
  const text = await telemetry.text();
  const read = (what: string): number =>
    Number(new RegExp(`_delivery_latency_${what}\\{.*\\} ([\\d.e-]+)`).exec(text)?.[1] ?? 0);
  return { count: read('count'), sumS: read('sum') };
}

describe.each(LANES)('in the lane %s', (lane) => {
  beforeAll(async () => {
    fixture = await rig.catalog({ lane, subscription: lane, retry: AT_ONCE });
  });

  test('an acknowledged delivery was dispatched once, and its latency is known', async () => {
    expect(await attempt(await rig.accept(fixture))).toMatchObject({ kind: 'acknowledged' });
    expect(await states()).toEqual({ Dispatched: 1, Acknowledged: 1 });
    const { count, sumS } = await latency();
    expect(count).toBe(1);
    expect(sumS).toBeGreaterThan(0);
    expect(sumS).toBeLessThan(10);
    expect(await telemetry.text()).toContain(
      `tenant="acme",connector="github",direction="inbound",lane="${lane}",state="Acknowledged"} 1\n`,
    );
  });

  test('a second attempt is no second dispatch and has no latency', async () => {
    rig.receiver.otherwise = { status: 503 };
    const ref = await rig.accept(fixture);
    expect(await attempt(ref)).toMatchObject({ kind: 'retry' });
    expect(await states()).toEqual({ Dispatched: 1 });
    expect(await attempt(ref)).toMatchObject({ kind: 'failed' });
    expect(await states()).toEqual({ Dispatched: 1, Failed: 1 });
    expect(await latency()).toMatchObject({ count: 1 });
  });

  test('a replay is counted once, and with it the state that it leads to', async () => {
    rig.receiver.otherwise = { status: 404 };
    const ref = await rig.accept(fixture);
    await attempt(ref);
    rig.receiver.otherwise = { status: 200 };
    expect(await decideReplay(services, ref, WHO)).toMatchObject({ kind: 'replayed' });
    expect(await decideReplay(services, ref, WHO)).toMatchObject({ kind: 'already_replaying' });
    await attempt(ref);
    expect(await states()).toEqual({ Dispatched: 2, Failed: 1, Replayed: 1, Acknowledged: 1 });
    expect(await latency()).toMatchObject({ count: 1 });
  });

  test('latency runs from receipt on the clock of the database', async () => {
    const ref = await rig.accept(fixture);
    await rig.db.rows(
      `update waybill.deliveries set received_at = received_at - interval '100 s'
      where delivery_id = $1`,
      [ref.deliveryId],
    );
    await attempt(ref);
    const { sumS } = await latency();
    expect(sumS).toBeGreaterThanOrEqual(100);
    expect(sumS).toBeLessThan(110);
  });

  test('a target that was not reached has no latency', async () => {
    const away = await rig.catalog({
      lane,
      subscription: `${lane}-away`,
      retry: AT_ONCE,
      targetUrl: 'http://127.0.0.1:1/',
    });
    const ref = await rig.accept(away);
    expect(await attempt(ref)).toMatchObject({ kind: 'retry', reason: 'connection_refused' });
    expect(await latency()).toEqual({ count: 0, sumS: 0 });
  });

  test('a target that is reached by a later attempt was dispatched to by that one', async () => {
    const back = await rig.catalog({
      lane,
      subscription: `${lane}-back`,
      retry: AT_ONCE,
      targetUrl: 'http://127.0.0.1:1/',
    });
    const ref = await rig.accept(back);
    await attempt(ref);
    await rig.db.rows(
      `update waybill.targets set config = jsonb_set(config, '{url}', to_jsonb($1::text))
      where target_id = $2`,
      [`${rig.receiver.url}/hook`, `${back.subscription}-target`],
    );
    await rig.db.rows(
      `update waybill.deliveries set received_at = received_at - interval '100 s'
      where delivery_id = $1`,
      [ref.deliveryId],
    );
    expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged', attempt: 2 });
    const { count, sumS } = await latency();
    expect(count).toBe(1);
    expect(sumS).toBeGreaterThanOrEqual(100);
  });

  test('a delivery that is told of by its event alone was dispatched with it', async () => {
    const target = { kind: 'event', config: { timeoutMs: 10_000 } } as const;
    const told = await rig.catalog({ lane, subscription: `${lane}-told`, target });
    expect(await attempt(await rig.accept(told))).toMatchObject({ kind: 'acknowledged' });
    expect(await latency()).toMatchObject({ count: 1 });
  });

  test('the share that was dispatched within two seconds, which is what is aimed at, can be read', async () => {
    await attempt(await rig.accept(fixture));
    expect(await telemetry.text()).toMatch(/_delivery_latency_bucket\{[^}]*le="2"\} 1\n/);
  });

  test('a delivery that cannot be dispatched is counted as failed, and not as dispatched', async () => {
    const ended = await rig.catalog({ lane, subscription: `${lane}-ended` });
    const ref = await rig.accept(ended);
    await rig.db.rows(
      `update waybill.subscriptions set state = 'deactivated' where subscription_id = $1`,
      [ended.subscription],
    );
    expect(await attempt(ref)).toMatchObject({
      kind: 'failed',
      reason: 'subscription_deactivated',
    });
    expect(await attempt(ref)).toMatchObject({ kind: 'settled' });
    expect(await states()).toEqual({ Failed: 1 });
  });
});
