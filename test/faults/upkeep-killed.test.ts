/**
 * SIGKILL of a real worker process between any two steps of checkpoints and retention; the next run goes on.
 * Doubled: nothing. Verdict: the check of the export with the public keys alone, and the rows.
 */
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { concludeBulkReplay } from '../../src/db/bulk-replays';
import { tenantId } from '../../src/domain/ids';
import type { UpkeepJob } from '../../src/domain/upkeep';
import type { PointName } from '../../src/points';
import { retainReplays } from '../../src/services/bulk-replay-retention';
import { checkpointReceipts, removeReceipts } from '../../src/services/checkpoints';
import { retainDelivered } from '../../src/services/delivery-retention';
import { exportReceipts } from '../../src/services/receipt-export';
import { generateKeyText, importSigningKey, publicKeySet } from '../../src/signing/keys';
import { verifyExport } from '../../src/signing/receipts/verify-export';
import { ensureSchedules, scheduleId } from '../../src/temporal/schedules';
import { failedInOneGo, moveJob, ownTenant, plannedJob, storedJob } from '../support/bulk-replays';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { WaybillProcesses } from '../support/processes';
import { acknowledged, failed } from '../support/signed-chains';
import { createTestDatabase, required, type TestDatabase } from '../support/test-database';
import { testKey } from '../support/test-signer';

let db: TestDatabase;
let acme: CatalogFixture;
let connection: Connection;
let client: Client;
let keyText: string;
const processes = new WaybillProcesses();
const never = new AbortController().signal;

beforeAll(async () => {
  db = await createTestDatabase();
  acme = await insertCatalog(db);
  connection = await Connection.connect({ address: required('WAYBILL_TEST_TEMPORAL_ADDRESS') });
  client = new Client({ connection });
  keyText = await generateKeyText();
});
afterAll(async () => {
  await processes.end();
  await connection.close();
  await db.drop();
});

const services = async () => ({
  operations: db.as('waybill_operations'),
  signingKey: await importSigningKey(keyText),
});

/** Runs the job in a worker that stands still at the point, and kills it there. */
async function killedAt(job: UpkeepJob, point: PointName): Promise<void> {
  const prefix = `test-${randomUUID()}-`;
  const queue = `${prefix}operations`;
  const doomed = await processes.worker(['--queues', 'operations'], {
    DATABASE_URL: db.url,
    TEMPORAL_ADDRESS: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
    WAYBILL_TASK_QUEUE_PREFIX: prefix,
    WAYBILL_SIGNING_KEY: 'env:TEST_SIGNING_KEY',
    TEST_SIGNING_KEY: keyText,
    WAYBILL_HOLD_AT: point,
  });
  await ensureSchedules(client, queue);
  const handle = client.schedule.getHandle(scheduleId(queue, job));
  await handle.trigger();
  await doomed.heldAt(point);
  await doomed.kill();
  const { recentActions } = (await handle.describe()).info;
  const run = recentActions.at(-1)?.action.workflow.workflowId;
  if (run !== undefined) await client.workflow.getHandle(run).terminate('the test is over');
  const jobs: readonly UpkeepJob[] = [
    ...(['retainActions', 'auditCounters', 'forgetExpired'] as const),
    ...(['retainDeliveries', 'checkpointReceipts', 'removeReceipts'] as const),
  ];
  for (const one of jobs) await client.schedule.getHandle(scheduleId(queue, one)).delete();
}

async function elapse(days: number): Promise<void> {
  const by = `make_interval(days => ${days})`;
  await db.rows(`update waybill.receipt_checkpoints set created_at = created_at - ${by}`);
  await db.rows(`update waybill.deliveries set settled_at = settled_at - ${by}`);
  await db.rows(`update waybill.dedup_keys set expires_at = expires_at - ${by}`);
  await db.rows(`update waybill.payload_marks set through = through - ${by}`);
}

async function verdict() {
  const from = { data: db.as('waybill_data'), nowMs: Date.now, ...(await services()) };
  const lines: string[] = [];
  for await (const line of exportReceipts(from, tenantId('acme'))) lines.push(line.trimEnd());
  const { signingKey } = await services();
  const keys = publicKeySet([signingKey, await testKey()]);
  const { problems, chains } = await verifyExport(lines, keys);
  return { problems, chains };
}

async function count(from: string): Promise<number> {
  const [row] = await db.rows<{ n: number }>(`select count(*)::integer as n from waybill.${from}`);
  return row?.n ?? -1;
}

test.each(['checkpoint.read', 'checkpoint.appended'] as const)(
  'killed at %s: each closed chain is in one checkpoint',
  async (point) => {
    await acknowledged(db, acme, { payload: Buffer.from(point) });
    await killedAt('checkpointReceipts', point);
    const written = await count('checkpoint_leaves');
    await failed(db, acme, { payload: Buffer.from(`${point} 2`) });
    await checkpointReceipts(await services(), never);
    const chains = await count('receipts');
    expect(await verdict()).toEqual({ problems: [], chains });
    expect([written, await count('checkpoint_leaves')]).toEqual([
      point === 'checkpoint.read' ? 0 : chains - 1,
      chains,
    ]);
  },
);

test.each(['retention.payloads', 'retention.rows'] as const)(
  'killed at %s: what is over goes, what is not stays, with every receipt',
  async (point) => {
    await acknowledged(db, acme, { payload: Buffer.from(point) });
    const receipts = await count('receipts');
    await elapse(100);
    const young = await acknowledged(db, acme, { payload: Buffer.from(`young ${point}`) });
    await killedAt('retainDeliveries', point);
    await retainDelivered(db.as('waybill_operations'), never);
    expect(await db.rows('select delivery_id from waybill.deliveries')).toEqual([
      { delivery_id: young.deliveryId },
    ]);
    expect(await count('artifacts where release_at is null')).toBe(1);
    expect(await count('receipts')).toBe(receipts + 1);
  },
);

test.each(['removal.read', 'removal.done'] as const)(
  'killed at %s: nothing is removed without a word, and nothing counts as lost',
  async (point) => {
    await acknowledged(db, acme, { payload: Buffer.from(point) });
    await checkpointReceipts(await services(), never);
    await elapse(500);
    await retainDelivered(db.as('waybill_operations'), never);
    await killedAt('removeReceipts', point);
    expect((await verdict()).problems).toEqual([]);
    await removeReceipts(await services(), never);
    expect(await count('receipts')).toBe(0);
    expect(await verdict()).toEqual({ problems: [], chains: 0 });
  },
);

test('killed at retention.replays: what a bulk replay had planned goes, its statement stays', async () => {
  const fixture = await ownTenant(db);
  await failedInOneGo(db, fixture, 3);
  const job = await plannedJob(db, fixture);
  await moveJob(db, job, 'cancel');
  await concludeBulkReplay(db.as('waybill_data'), job, {}, 'jws');
  await db.rows(`update waybill.replay_jobs set finished_at = now() - interval '91 days'`);
  await killedAt('retainDeliveries', 'retention.replays');
  await retainReplays(db.as('waybill_operations'), never);
  expect(await count('replay_items')).toBe(0);
  expect(await storedJob(db, job)).toMatchObject({ planned: 3, left: 3, receipt: 'jws' });
});
