/**
 * How a delivery of the express lane reaches its loop: by notices and without them, from a real API, by a
 * real worker, which is told to stop in the end. Doubled: nothing; the first loop runs in this process, since
 * it looks by itself so rarely that only a notice can have woken it. Verdict: rows, and the target's records.
 */
import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { z } from 'zod';
import { listenExpress } from '../../src/db/notices';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryId, tenantId } from '../../src/domain/ids';
import { Hint } from '../../src/workers/loops/hint';
import { runLoop } from '../../src/workers/loops/loop';
import type { CatalogFixture } from '../support/catalog-fixture';
import { FaultRig, INGRESS_SECRET } from '../support/fault-rig';
import type { WaybillProcess } from '../support/processes';
import { until } from '../support/until';
import { postWebhook } from '../support/vendor';

/** Longer than any test. */
const NEVER_MS = 3_600_000;

let faults: FaultRig;
let fixture: CatalogFixture;
let url: string;
beforeAll(async () => {
  faults = await FaultRig.start();
  fixture = await faults.rig.catalog({ lane: 'express' });
  ({ url } = await faults.api());
});
afterAll(() => faults.stop());

/** A vendor's request through the API, which gives notice of it. */
async function post(): Promise<DeliveryRef> {
  const { ingressRef, tenant } = fixture;
  const answer = await postWebhook({ url, ingressRef, secret: INGRESS_SECRET, id: randomUUID() });
  const told = z.object({ deliveryId: z.string() }).parse(await answer.json());
  return { tenantId: tenantId(tenant), deliveryId: deliveryId(told.deliveryId) };
}

/** Connections that listen, and what they have asked last. */
const listeners = () =>
  faults.rig.db.rows<{ pid: number; query: string }>(
    `select pid, query from pg_stat_activity
      where application_name = 'waybill-notices' and datname = current_database()`,
  );

test('a notice of the API wakes a loop that looks by itself once an hour', async () => {
  const { rig } = faults;
  const stopping = new AbortController();
  const { signal } = stopping;
  const hint = new Hint();
  const lane = rig.expressLane({ hint, signal });
  let looked = 0;
  const round = () => {
    looked += 1;
    return lane.round();
  };
  const log = pino({ level: 'silent' });
  const loop = runLoop({ name: 'express', intervalMs: NEVER_MS, round, signal, hint, log });
  let heard = 0;
  const listening = listenExpress({
    ...{ url: rig.db.url, role: 'waybill_operations', signal },
    onNotice: (tenant) => {
      heard += 1;
      lane.notice(tenant);
    },
    onError: () => undefined,
  });
  try {
    const listens = () => Promise.resolve(heard > 0 && looked > 1 ? true : null);
    await until('it listens, and has looked since', listens);
    // Of this one nobody gives notice: it waits for the next one.
    const unheard = await rig.accept(fixture);
    for (let nth = 0; nth < 5; nth += 1) await rig.reaches(await post(), 'Acknowledged');
    await rig.reaches(unheard, 'Acknowledged');
  } finally {
    stopping.abort();
    await Promise.all([loop, listening]);
    await lane.drain(0);
  }
  expect(await slowest()).toBeLessThan(5_000);
});

/** The longest time from the receipt of one that the API has told of to its attempt, in ms. */
async function slowest(): Promise<number> {
  const [row] = await faults.rig.db.rows<{ ms: number }>(
    `select max(1000 * extract(epoch from a.opened_at - d.received_at))::float8 as ms
      from waybill.deliveries d join waybill.delivery_attempts a using (tenant_id, delivery_id)
      where d.external_id <> d.delivery_id::text`,
  );
  return row?.ms ?? Infinity;
}

describe('a worker', () => {
  let worker: WaybillProcess;
  beforeAll(async () => {
    worker = await faults.worker();
  });

  test('listens, and takes what the API has accepted at once', async () => {
    const { rig } = faults;
    await until('it listens', async () => {
      const [one] = await listeners();
      return one?.query === 'listen waybill_express' ? true : null;
    });
    for (let nth = 0; nth < 5; nth += 1) await rig.reaches(await post(), 'Acknowledged');
    expect(await slowest()).toBeLessThan(5_000);
  });

  test('that hears nothing looks by itself, and listens again', async () => {
    const { rig } = faults;
    const before = await listeners();
    const accepted = [await post()];
    await rig.db.rows('select pg_terminate_backend($1)', [before[0]?.pid]);
    accepted.push(await post());
    // Nor does anybody give notice of this one.
    accepted.push(await rig.accept(fixture));
    for (const ref of accepted) {
      await rig.reaches(ref, 'Acknowledged');
      expect(rig.receiver.of(ref.deliveryId)).toHaveLength(1);
    }
    await until('it listens again', async () => {
      const [one] = await listeners();
      return one !== undefined && one.pid !== before[0]?.pid ? true : null;
    });
  });

  test('that is told to stop ends the attempt under way, and hands it over', async () => {
    const { rig } = faults;
    const calls = rig.receiver.calls.length;
    rig.receiver.answers.push('hang');
    const ref = await post();
    await rig.receiver.seen(calls + 1);
    await worker.stop();
    const rows = await rig.db.rows(
      `select a.outcome, a.reason, d.driver, d.state from waybill.delivery_attempts a
        join waybill.deliveries d using (tenant_id, delivery_id) where delivery_id = $1`,
      [ref.deliveryId],
    );
    const timedOut = { outcome: 'unknown', reason: 'timed_out' };
    expect(rows).toEqual([{ ...timedOut, driver: 'workflow', state: 'Dispatched' }]);
    await expect(rig.handle(ref).describe()).resolves.toMatchObject({ type: 'delivery' });
  });
});
