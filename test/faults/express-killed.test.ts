/**
 * SIGKILL of a real worker between any two steps of the loop of the express lane. Doubled: nothing; the
 * time that a dead owner's lease lasts is over by a statement. Verdict: the target's own records, the rows,
 * the events, the receipt chain, and whether there is a workflow.
 */
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import type { PointName } from '../../src/points';
import type { CatalogFixture } from '../support/catalog-fixture';
import { FaultRig } from '../support/fault-rig';

let faults: FaultRig;
let fixture: CatalogFixture;

beforeAll(async () => {
  faults = await FaultRig.start();
  fixture = await faults.rig.catalog({ lane: 'express' });
  // Whatever is handed over has its heir; the lane's loop is that of the process that dies.
  await faults.rig.work({ express: false });
});
afterAll(async () => {
  await faults.stop();
});

/** Accepts one, and kills the worker whose loop stands still there with it. */
async function killedAt(point: PointName): Promise<DeliveryRef> {
  const doomed = await faults.worker(point);
  const ref = await faults.rig.accept(fixture);
  await doomed.heldAt(point);
  await doomed.kill();
  return ref;
}

async function leaseOver({ deliveryId }: DeliveryRef): Promise<void> {
  await faults.rig.db.rows(
    `with late as (update waybill.delivery_attempts set deadline_at = clock_timestamp()
        where delivery_id = $1 and closed_at is null)
      update waybill.deliveries set attend_at = clock_timestamp() where delivery_id = $1`,
    [deliveryId],
  );
}

const endOf = (ref: DeliveryRef) => faults.rig.handle(ref).result() as Promise<unknown>;

test.each<{ point: PointName; calls: number }>([
  { point: 'express.claimed', calls: 1 },
  { point: 'attempt.opened', calls: 1 },
  { point: 'attempt.answered', calls: 2 },
])('a claim whose owner died at $point is handed over as unknown', async ({ point, calls }) => {
  const { rig } = faults;
  const ref = await killedAt(point);
  expect(await rig.row(ref)).toMatchObject({ state: 'Dispatched', attempts: 1 });
  await leaseOver(ref);
  expect(await rig.reaches(ref, 'Acknowledged')).toMatchObject({ attempts: 2 });
  const outcomes = await rig.db.rows(
    `select outcome, reason from waybill.delivery_attempts where delivery_id = $1 order by attempt_no`,
    [ref.deliveryId],
  );
  expect(outcomes).toEqual([
    { outcome: 'unknown', reason: 'worker_lost' },
    { outcome: 'acknowledged', reason: null },
  ]);
  expect(rig.receiver.of(ref.deliveryId)).toHaveLength(calls);
  await faults.expectOneEnd(ref);
});

test('a claim of what is told by an event, or starts a workflow, is made good when its owner has died', async () => {
  const { rig } = faults;
  const theirs = { taskQueue: `their-queue-${randomUUID()}`, workflowType: 'triage' };
  await rig.db.rows(`update waybill.settings set workflow_targets = $1`, [
    JSON.stringify([{ ...theirs, tenants: null }]),
  ]);
  const event = await rig.catalog({
    ...{ lane: 'express', subscription: 'event' },
    target: { kind: 'event', config: { timeoutMs: 10_000 } },
  });
  const workflow = await rig.catalog({
    ...{ lane: 'express', subscription: 'workflow' },
    target: { kind: 'workflow', config: { ...theirs, signal: null, timeoutMs: 5_000 } },
  });
  const refs = [await rig.accept(event), await rig.accept(workflow)];
  const doomed = await faults.worker('express.claimed');
  await doomed.heldAt('express.claimed');
  await doomed.kill();
  for (const ref of refs) {
    expect(await rig.row(ref)).toMatchObject({ state: 'Dispatched', attempts: 1 });
    await leaseOver(ref);
  }
  const rows = [];
  for (const ref of refs) {
    rows.push(await rig.reaches(ref, 'Acknowledged'));
    await faults.expectOneEnd(ref);
  }
  // Nothing leaves before the event's attempt is closed, so that the same one is closed by whoever comes next.
  expect(rows).toMatchObject([{ attempts: 1 }, { attempts: 2 }]);
});

test('one that was acknowledged before its worker died is over, without a workflow', async () => {
  const { rig } = faults;
  const ref = await killedAt('attempt.closed');
  expect(await rig.row(ref)).toMatchObject({ state: 'Acknowledged', attempts: 1 });
  await expect(rig.handle(ref).describe()).rejects.toThrow(WorkflowNotFoundError);
  await faults.expectOneEnd(ref);
});

test.each<PointName>(['attempt.closed', 'express.started'])(
  'one that was refused before its worker died at %s goes on in its workflow',
  async (point) => {
    const { rig } = faults;
    rig.receiver.answers.push({ status: 503 });
    const ref = await killedAt(point);
    expect(await rig.reaches(ref, 'Acknowledged')).toMatchObject({ attempts: 2 });
    expect(await endOf(ref)).toEqual({ state: 'Acknowledged' });
    expect(rig.receiver.of(ref.deliveryId)).toHaveLength(2);
    await faults.expectOneEnd(ref);
  },
);

test('one that failed for good before its worker died has its page all the same', async () => {
  const { rig } = faults;
  rig.receiver.answers.push({ status: 404 });
  const ref = await killedAt('attempt.closed');
  expect(await rig.row(ref)).toMatchObject({ state: 'Failed', attempts: 1 });
  expect(await rig.says(ref, /Failed/)).toContain('replay');
  await rig.waits(ref);
});
