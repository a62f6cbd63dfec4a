/**
 * A restore from an older backup, with everything real: actions with their workflows and hosts, a backup,
 * work that goes on, a database that is swapped for its backup, and the recovery. The verdict is the
 * provider's: no effect is there twice.
 */
import { NativeConnection, Worker } from '@temporalio/worker';
import { actionActivities } from '../../src/activities/actions';
import { endRecovery, recoveryStatus } from '../../src/db/recovery';
import type { ActionRef } from '../../src/domain/action-service';
import { tenantId } from '../../src/domain/ids';
import { recoverAfterRestore } from '../../src/services/recovery';
import { actionArchive } from '../../src/temporal/action-archive';
import { ActionRig } from '../support/action-rig';
import { TENANT } from '../support/action-fleet';
import { takeBackup } from '../support/backups';
import { required } from '../support/test-database';
import { until } from '../support/until';
import { workflowBundle } from '../support/workflow-bundle';

let rig: ActionRig;
beforeAll(async () => {
  rig = await ActionRig.start();
});
afterAll(() => rig.stop());

const operations = () => rig.db.as('waybill_operations');
const archive = () => actionArchive(rig.client, `${rig.queuePrefix}actions`);
const named = (actionId: string) => rig.ticket({ actionId });

/** A worker; resolves with how to stop it. */
async function work(): Promise<() => Promise<void>> {
  const address = required('WAYBILL_TEST_TEMPORAL_ADDRESS');
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue: `${rig.queuePrefix}actions`,
    workflowBundle: { codePath: workflowBundle() },
    activities: actionActivities(rig.services),
    stickyQueueScheduleToStartTimeout: 500,
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
}

const limit = (most: number) =>
  rig.db.rows('update waybill.quota_policies set tenant_limit = $1', [most]);

async function fenceOf({ actionId }: ActionRef): Promise<number> {
  const [row] = await rig.db.rows<{ fence: string }>(
    'select fence from waybill.routes where action_id = $1',
    [actionId],
  );
  return Number(row?.fence ?? 0);
}

/** Visibility follows with a delay. */
async function remembered(...refs: readonly ActionRef[]): Promise<void> {
  for (const ref of refs) {
    await until(`Temporal lists ${ref.actionId}`, async () => {
      return (await archive().runsOf(ref)).length > 0 ? true : null;
    });
  }
}

const effects = (refs: readonly ActionRef[]) => refs.map((ref) => rig.effects(ref));

test('after a restore nothing is done twice, nothing is routed afresh, and no fence goes back', async () => {
  let stop = await work();
  await rig.host(0);
  const done = await named('done');
  await rig.reaches(done, 'completed');
  await limit(1);
  await rig.holdEffects(1);
  const sending = await named('sending');
  await rig.reaches(sending, 'dispatching');
  await until('its effect is there', async () => {
    await Promise.resolve();
    return rig.effects(sending) === 1 ? true : null;
  });
  const waiting = await named('waiting');
  await until('it waits for its quota', async () => {
    const { reason } = await rig.row(waiting);
    return reason === 'capacity_exceeded.tenant' ? true : null;
  });
  const backup = await takeBackup(rig.db);

  await rig.holdEffects(0);
  await limit(50);
  const added = await named('added');
  for (const ref of [sending, waiting, added]) await rig.reaches(ref, 'completed');
  // Accepted, and nobody is there to do it.
  await rig.running('h1').stop();
  const unsent = await named('unsent');
  await until('it waits for a host', async () => {
    const { reason } = await rig.row(unsent);
    return reason?.startsWith('replica_unavailable') === true ? true : null;
  });
  const fence = await fenceOf(sending);
  await remembered(sending, waiting, added, unsent);
  await stop();
  await backup.restore();

  const report = await recoverAfterRestore({ operations: operations(), archive: archive() }, 'ada');
  expect(report).toMatchObject({
    open: { doubted: 1, untouched: 0, handed: 1 },
    lost: { buried: 1, handed: 1, known: 0 },
    unreadable: [],
  });
  const again = await recoverAfterRestore({ operations: operations(), archive: archive() }, 'ada');
  expect(again.lost).toEqual({ buried: 0, handed: 0, known: 0 });
  expect((await recoveryStatus(operations())).forPeople).toMatchObject([
    {
      actionId: 'unsent',
      reason: 'row_lost',
      detail: expect.stringMatching(/nothing was sent/) as string,
    },
    { actionId: 'waiting', reason: 'route_lost' },
  ]);

  stop = await work();
  await rig.host(0);
  // Whoever starts them again meets them.
  for (const ref of [done, sending, waiting, added, unsent]) await named(ref.actionId);
  const fresh = await named('fresh');
  expect(await rig.reaches(sending, 'completed')).toMatchObject({
    result: { outcome: 'succeeded' },
  });
  expect(await fenceOf(sending)).toBeGreaterThan(fence);
  expect(await rig.row(added)).toMatchObject({ state: 'completed', attempt: null });
  expect(await rig.row(waiting)).toMatchObject({ state: 'needs_operator', attempt: null });
  expect(await rig.row(unsent)).toMatchObject({ state: 'needs_operator', attempt: null });
  await rig.says(fresh, /waybill recover --release/);
  expect(effects([done, sending, waiting, added, unsent, fresh])).toEqual([1, 1, 1, 1, 0, 0]);

  expect(await endRecovery(operations(), 'ada')).toBe(true);
  await rig.reaches(fresh, 'completed');
  expect(effects([done, sending, waiting, added, unsent, fresh])).toEqual([1, 1, 1, 1, 0, 1]);
  await rig.handle(waiting).executeUpdate('resolve', {
    args: [{ outcome: 'completed', by: 'grace', reason: 'its ticket is there' }],
  });
  await rig.reaches({ tenantId: tenantId(TENANT), actionId: 'waiting' }, 'completed');
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
  await stop();
}, 120_000);
