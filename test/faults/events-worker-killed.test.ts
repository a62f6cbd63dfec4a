/**
 * SIGKILL of a real worker process between a delivery's state and the sinks that are told of it.
 * Doubled: nothing. Verdict: what the sink has got, the outbox, and the sink as the database has it.
 */
import type { PointName } from '../../src/points';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import type { CatalogFixture } from '../support/catalog-fixture';
import { FaultRig } from '../support/fault-rig';
import { outboxOf } from '../support/outbox';
import { Receiver } from '../support/receiver';
import { firstTimes, got } from '../support/sink-rig';
import { until } from '../support/until';

let faults: FaultRig;
let fixture: CatalogFixture;
let sink: Receiver;

beforeAll(async () => {
  faults = await FaultRig.start();
  fixture = await faults.rig.catalog();
  sink = await Receiver.start();
  await faults.rig.db.rows(
    `insert into waybill.event_sinks (tenant_id, sink_id, url, timeout_ms, topics, secret_refs, state,
        passed) values ($1, 'audit', $2, 2000, '{*}', '{env:TEST_SINK_SECRET}', 'active', 0)`,
    [fixture.tenant, `${sink.url}/events`],
  );
});
afterAll(async () => {
  await faults.stop();
  await sink.stop();
});

const of = (ref: DeliveryRef) =>
  got(sink).filter(({ subject }) => subject === `delivery/${ref.deliveryId}`);

test.each<PointName>([...(['attempt.closed', 'sink.claimed', 'sink.sent'] as const)])(
  'a worker killed at %s: each event is told, in order, once or repeated',
  async (point) => {
    const { rig } = faults;
    const doomed = await faults.worker(point);
    const ref = await rig.deliver(fixture, { heartbeatMs: 1_000 });
    await doomed.heldAt(point);
    await doomed.kill();
    // Its lease would end by itself.
    await rig.db.rows('update waybill.event_sinks set lease_ends_at = now()');
    const heir = await faults.worker();
    await rig.reaches(ref, 'Acknowledged', 30_000);
    expect(await outboxOf(rig.db, ref)).toEqual(['1 DeliveryReceived', '2 DeliveryDispatched']);
    await until('both are told', () => {
      const told = firstTimes(of(ref))[`delivery/${ref.deliveryId}`] ?? [];
      return Promise.resolve(told.length === 2 ? told : null);
    });
    expect(Object.values(firstTimes(of(ref)))).toEqual([[1, 2]]);
    await heir.stop();
  },
);
