/**
 * SIGKILL of a real worker process between any two steps of a delivery. Doubled: nothing. Verdict:
 * the target's own records, the rows, the events and the receipt chain.
 */
import { randomUUID } from 'node:crypto';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { LANES, type Lane } from '../../src/domain/lanes';
import type { PointName } from '../../src/points';
import type { CatalogFixture } from '../support/catalog-fixture';
import { FaultRig } from '../support/fault-rig';

let faults: FaultRig;
let fixture: CatalogFixture;

beforeAll(async () => {
  faults = await FaultRig.start();
  fixture = await faults.rig.catalog();
});
afterAll(async () => {
  await faults.stop();
});

/** Calls that the target may have seen: once, or once more where the answer was lost. */
const STEPS: readonly { point: PointName; calls: number; attempts: number }[] = [
  { point: 'attempt.begun', calls: 1, attempts: 1 },
  { point: 'attempt.opened', calls: 1, attempts: 2 },
  { point: 'attempt.answered', calls: 2, attempts: 2 },
  { point: 'attempt.closed', calls: 1, attempts: 1 },
];

test.each(STEPS)('a worker killed at $point loses nothing', async ({ point, calls, attempts }) => {
  const { rig } = faults;
  const doomed = await faults.worker(point);
  const ref = await rig.deliver(fixture, { heartbeatMs: 1_000 });
  await doomed.heldAt(point);
  await doomed.kill();
  const heir = await faults.worker();
  await rig.handle(ref).result();
  expect(await rig.row(ref)).toMatchObject({ state: 'Acknowledged', attempts });
  expect(rig.receiver.of(ref.deliveryId)).toHaveLength(calls);
  await faults.expectOneEnd(ref);
  await heir.stop();
});

/** One that waits for a workflow that nobody has started: of the express lane, its second attempt. */
const STRANDED: Readonly<Record<Lane, () => Promise<DeliveryRef>>> = {
  durable: () => faults.rig.accept(fixture),
  express: async () => {
    const { rig } = faults;
    const quick = await rig.catalog({ lane: 'express', subscription: `stranded-${randomUUID()}` });
    rig.receiver.answers.push({ status: 503 });
    const ref = await rig.accept(quick);
    const lane = rig.expressLane({ start: () => Promise.resolve() });
    await lane.round();
    await lane.drain(5_000);
    return ref;
  },
};
const ATTENDING: readonly PointName[] = ['attend.claimed', 'attend.started'];

test.each(LANES.flatMap((lane) => ATTENDING.map((point) => ({ point, lane }))))(
  'a loop killed at $point leaves the delivery of the lane $lane to the next one',
  async ({ point, lane }) => {
    const { rig } = faults;
    const ref = await STRANDED[lane]();
    const doomed = await faults.worker(point);
    await doomed.heldAt(point);
    await doomed.kill();
    const heir = await faults.worker();
    await rig.reaches(ref, 'Acknowledged', 30_000);
    expect(rig.receiver.of(ref.deliveryId)).toHaveLength(lane === 'durable' ? 1 : 2);
    await faults.expectOneEnd(ref);
    await heir.stop();
  },
);

test('a worker that is told to stop finishes the attempt that is under way', async () => {
  const { rig } = faults;
  const before = rig.receiver.calls.length;
  rig.receiver.answers.push('hang');
  const worker = await faults.worker();
  const ref = await rig.deliver(fixture, { heartbeatMs: 1_000 });
  await rig.receiver.seen(before + 1);
  const stopped = worker.stop();
  // The target's time-out ends the call inside the grace time: a closed attempt, not a lost one.
  await stopped;
  const attempts = await rig.db.rows(
    'select outcome, reason from waybill.delivery_attempts where delivery_id = $1',
    [ref.deliveryId],
  );
  expect(attempts).toEqual([{ outcome: 'unknown', reason: 'timed_out' }]);
  const heir = await faults.worker();
  await rig.reaches(ref, 'Acknowledged');
  await heir.stop();
});

test('a live delivery whose workflow was terminated in the UI is started again by the loop', async () => {
  const { rig } = faults;
  const slow = await rig.catalog({
    subscription: 'slow',
    retry: {
      attempts: 2,
      backoff: { kind: 'list', delaysMs: [1_500] },
      jitter: 0,
      totalSpanMs: null,
      retryAfterCapMs: 1_000,
    },
  });
  const worker = await faults.worker();
  rig.receiver.answers.push({ status: 503 });
  const ref = await rig.deliver(slow);
  await rig.waits(ref);
  await rig.handle(ref).terminate('by an operator');
  expect(await rig.reaches(ref, 'Acknowledged', 30_000)).toMatchObject({ attempts: 2, series: 1 });
  expect(rig.receiver.of(ref.deliveryId)).toHaveLength(2);
  await worker.stop();
});
