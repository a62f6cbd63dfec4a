/**
 * SIGKILL of a real worker process between any two steps of a bulk replay. Doubled: nothing but the
 * incident's failed deliveries. Verdict: the target's own records, the rows and the receipts.
 */
import { createBulkReplay } from '../../src/db/bulk-replays';
import type { BulkReplayMove, BulkReplayRef } from '../../src/domain/bulk-replays';
import { replayJobId, tenantId } from '../../src/domain/ids';
import type { PointName } from '../../src/points';
import { decideBulkMove } from '../../src/services/bulk-replays';
import { BulkReplayWorkflows } from '../../src/temporal/bulk-replay-starter';
import { v7 as uuidv7 } from 'uuid';
import { failedInOneGo, plannedIds, storedJob, WISH } from '../support/bulk-replays';
import type { CatalogFixture } from '../support/catalog-fixture';
import { FaultRig } from '../support/fault-rig';
import { until } from '../support/until';

const FAILED = 6;

let faults: FaultRig;
let workflows: BulkReplayWorkflows;
let tenants = 0;

beforeAll(async () => {
  faults = await FaultRig.start('deliveries,operations');
  const { rig } = faults;
  const timing = { waitMs: 60_000, heartbeatMs: 1_000 };
  workflows = new BulkReplayWorkflows(rig.client, `${rig.queuePrefix}operations`, timing);
});
afterAll(() => faults.stop());

async function incident(): Promise<CatalogFixture> {
  tenants += 1;
  const fixture = await faults.rig.catalog({ tenant: `tenant-${tenants}` });
  await failedInOneGo(faults.rig.db, fixture, FAILED);
  return fixture;
}

async function plan({ tenant }: CatalogFixture): Promise<BulkReplayRef> {
  const ref = { tenantId: tenantId(tenant), jobId: replayJobId(uuidv7()) };
  await createBulkReplay(faults.rig.services.data, ref, { ...WISH, ratePerSecond: 20 }, 100);
  await workflows.nudge(ref);
  return ref;
}

async function move(ref: BulkReplayRef, name: BulkReplayMove): Promise<void> {
  const { data } = faults.rig.services;
  await decideBulkMove({ data }, { ...ref, move: name, by: 'bob', reason: null });
  await workflows.nudge(ref);
}

const reaches = (ref: BulkReplayRef, state: string) =>
  until(
    `the job is ${state}`,
    async () => {
      const job = await storedJob(faults.rig.db, ref);
      return job.state === state && (state !== 'finished' || job.receipt !== null) ? job : null;
    },
    40_000,
  );

const AFTER_RUN: readonly PointName[] = [
  'bulk-replay.due',
  'bulk-replay.replayed',
  'bulk-replay.nudged',
  'bulk-replay.signed',
  'bulk-replay.concluded',
];

test.each<{ point: PointName }>([
  { point: 'bulk-replay.planned' },
  ...AFTER_RUN.map((point) => ({ point })),
])('a worker killed at $point loses and doubles no replay', async ({ point }) => {
  const doomed = await faults.worker(point);
  const fixture = await incident();
  const ref = await plan(fixture);
  if (AFTER_RUN.includes(point)) {
    await reaches(ref, 'planned');
    await move(ref, 'run');
  }
  await doomed.heldAt(point);
  await doomed.kill();
  const heir = await faults.worker();
  if (!AFTER_RUN.includes(point)) {
    await reaches(ref, 'planned');
    await move(ref, 'run');
  }
  const done = await reaches(ref, 'finished');
  const all = { planned: FAILED, replayed: FAILED, acknowledged: FAILED };
  expect(done).toMatchObject({ ...all, failedAgain: 0, open: 0, left: 0, skipped: {} });
  await expectOneReplayEach(ref);
  await heir.stop();
});

/** Each was sent once, in a second series, with one receipt and one line of audit. */
async function expectOneReplayEach(ref: BulkReplayRef): Promise<void> {
  const { rig } = faults;
  const ids = await plannedIds(rig.db, ref);
  expect(new Set(ids).size).toBe(FAILED);
  for (const id of ids) {
    expect(rig.receiver.of(id)).toHaveLength(1);
    const [facts] = await rig.db.rows(
      `select state, series,
          (select count(*)::integer from waybill.receipts r where r.tenant_id = d.tenant_id
            and r.subject = 'delivery/' || d.delivery_id and r.kind = 'replayed') as receipts,
          (select count(*)::integer from waybill.audit_log l where l.tenant_id = d.tenant_id
            and l.subject = 'delivery/' || d.delivery_id and l.action = 'replay') as audited
        from waybill.deliveries d where d.delivery_id = $1`,
      [id],
    );
    expect(facts).toEqual({ state: 'Acknowledged', series: 2, receipts: 1, audited: 1 });
  }
}

test('a job that nobody could tell Temporal of is planned and run by the loop', async () => {
  const fixture = await incident();
  const ref = { tenantId: tenantId(fixture.tenant), jobId: replayJobId(uuidv7()) };
  await createBulkReplay(faults.rig.services.data, ref, WISH, 100);
  const worker = await faults.worker();
  await reaches(ref, 'planned');
  const { data } = faults.rig.services;
  await decideBulkMove({ data }, { ...ref, move: 'run', by: 'bob', reason: null });
  expect(await reaches(ref, 'finished')).toMatchObject({ acknowledged: FAILED });
  await worker.stop();
});
