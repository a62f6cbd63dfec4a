/**
 * Upkeep as its schedules run it. Real: Temporal with its schedules, the workflow, Postgres. The tests
 * trigger a run instead of waiting for its time.
 */
import { randomUUID } from 'node:crypto';
import { Client, Connection, ScheduleOverlapPolicy } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { operationsActivities } from '../../src/activities/operations';
import type { CounterDifference, UpkeepJob } from '../../src/domain/upkeep';
import { ensureSchedules, scheduleId } from '../../src/temporal/schedules';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, required, type TestDatabase } from '../support/test-database';
import { testKey } from '../support/test-signer';
import { until } from '../support/until';
import { workflowBundle } from '../support/workflow-bundle';

const QUEUE = `test-${randomUUID()}-operations`;
const JOBS: readonly UpkeepJob[] = [
  'retainActions',
  'auditCounters',
  'forgetExpired',
  'retainDeliveries',
  'checkpointReceipts',
  'removeReceipts',
];

let db: TestDatabase;
let connection: Connection;
let client: Client;
const told: CounterDifference[] = [];
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
  const address = required('WAYBILL_TEST_TEMPORAL_ADDRESS');
  connection = await Connection.connect({ address });
  client = new Client({ connection });
  const native = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection: native,
    taskQueue: QUEUE,
    workflowBundle: { codePath: workflowBundle() },
    activities: operationsActivities({
      operations: db.as('waybill_operations'),
      signingKey: await testKey(),
      differ: (differences) => told.push(...differences),
    }),
  });
  const running = worker.run();
  closers.push(async () => {
    worker.shutdown();
    await running;
    await native.close();
  });
});
afterAll(async () => {
  for (const job of JOBS) {
    await client.schedule
      .getHandle(scheduleId(QUEUE, job))
      .delete()
      .catch(() => undefined);
  }
  for (const close of closers) await close();
  await connection.close();
  await db.drop();
});

/** Runs the job once, now, and answers what its workflow says. */
async function run(job: UpkeepJob): Promise<unknown> {
  await ensureSchedules(client, QUEUE);
  const handle = client.schedule.getHandle(scheduleId(QUEUE, job));
  const before = (await handle.describe()).info.numActionsTaken;
  await handle.trigger();
  const workflowId = await until(`${job} has been started`, async () => {
    const { recentActions, numActionsTaken } = (await handle.describe()).info;
    const started = recentActions.at(-1)?.action.workflow.workflowId;
    return numActionsTaken > before ? started : null;
  });
  return await client.workflow.getHandle(workflowId).result();
}

test('workers that start at once make each schedule once, and never catch up by more than one run', async () => {
  await Promise.all([1, 2, 3].map(() => ensureSchedules(client, QUEUE)));
  await ensureSchedules(client, QUEUE);
  for (const job of JOBS) {
    const found = await client.schedule.getHandle(scheduleId(QUEUE, job)).describe();
    expect(found.policies).toMatchObject({
      ...{ overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: 60_000 },
    });
    expect(found.action).toMatchObject({
      workflowType: 'upkeep',
      taskQueue: QUEUE,
      args: [{ job }],
    });
    expect(found.spec.intervals).toHaveLength(1);
  }
});

test('one that a person has paused stays paused when a worker starts', async () => {
  await ensureSchedules(client, QUEUE);
  const handle = client.schedule.getHandle(scheduleId(QUEUE, 'forgetExpired'));
  await handle.pause('looking at it');
  await ensureSchedules(client, QUEUE);
  expect((await handle.describe()).state).toMatchObject({ paused: true, note: 'looking at it' });
  await handle.unpause();
});

test('retention runs until nothing is left, and its result says what it removed', async () => {
  const rig = new Rig(postgresFixture(db));
  await rig.account();
  await rig.host({ replica: 'h1' });
  await db.rows(`insert into waybill.actions (tenant_id, action_id, capability_id, request_sha256,
      state, requested_by, retry_budget, deadline_at, attend_at)
    select 'acme', 'a' || n, 'tickets.create', sha256('{}'), 'requested', 'ada', 0, now(), now()
      from generate_series(1, 250) n`);
  await db.rows(`update waybill.actions set state = 'cancelled', result_outcome = 'cancelled',
    attend_at = null, closed_at = clock_timestamp() - interval '31 days'`);
  expect(await run('retainActions')).toEqual({
    ...{ actions: 250, artifacts: 0, tombstones: 0, more: false },
  });
  expect(await run('forgetExpired')).toEqual({ more: false });
});

test('an audit tells how many counters differ, and mends none', async () => {
  expect(await run('auditCounters')).toEqual({ differences: 0, more: false });
  await db.rows('update waybill.replicas set active_assignments = 3');
  expect(await run('auditCounters')).toEqual({ differences: 1, more: false });
  expect(told).toMatchObject([{ subject: 'h1', recorded: 3, counted: 0 }]);
  expect(await db.rows('select active_assignments as n from waybill.replicas')).toEqual([{ n: 3 }]);
});
