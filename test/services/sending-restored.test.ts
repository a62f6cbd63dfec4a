/**
 * What was being sent when the database was restored from a backup, the pace of sending, and who sends. Real: Postgres,
 * attempts, the call. Doubled: the workflow, whose attempts this process makes, and the vendor.
 */
import { v7 as uuidv7 } from 'uuid';
import { claimUnattended, closeAttempt } from '../../src/db/deliveries';
import { claimExpress, expressTenants } from '../../src/db/express-deliveries';
import { beginRecovery, endRecovery } from '../../src/db/recovery';
import { wakeEnded } from '../../src/db/subscriptions';
import { deliveryId, tenantId } from '../../src/domain/ids';
import { deliverService } from '../../src/services/deliver';
import { makeAttempt } from '../../src/services/attempts';
import { generateKeyText, importSigningKey } from '../../src/signing/keys';
import { Receiver } from '../support/receiver';
import {
  attemptServices,
  httpOperation,
  insertConnection,
  orderOf,
  refOf,
  sent,
} from '../support/sending-rig';
import { open, retryIn } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let db: TestDatabase;
let vendor: Receiver;
let attempting: ReturnType<typeof attemptServices>;
beforeAll(async () => {
  db = await createTestDatabase();
  vendor = await Receiver.start();
  attempting = attemptServices(db, await importSigningKey(await generateKeyText()), {});
  const operations = {
    send: httpOperation(vendor.url),
    keyed: httpOperation(vendor.url, { idempotencyHeader: 'idempotency-key' }),
  };
  await insertConnection(db, { name: 'pay', operations });
});
afterAll(async () => {
  await attempting.close();
  await vendor.stop();
  await db.drop();
});

async function stored(operation: string) {
  const deliver = deliverService({
    data: attempting.services.data,
    newDeliveryId: () => deliveryId(uuidv7()),
    start: () => undefined,
  });
  const principal = { tenantId: tenantId('acme'), subject: 'ada' };
  const order = orderOf('pay', { operation, waitMs: 0 });
  return refOf(sent(await deliver(order, principal, new AbortController().signal)));
}

const attempt = (ref: Awaited<ReturnType<typeof stored>>) =>
  makeAttempt(attempting.services, ref, {
    ...{ owner: 'test', takeOver: false },
    signal: new AbortController().signal,
  });

test('only where the vendor knows repeats does it go on, and not before the recovery is over', async () => {
  const [plain, keyed] = [await stored('send'), await stored('keyed')];
  await beginRecovery(db.as('waybill_operations'), 'ada');
  expect(await attempt(plain)).toMatchObject({ kind: 'failed', reason: 'uncertain' });
  expect(await attempt(keyed)).toMatchObject({ kind: 'held', why: 'recovering' });
  expect(vendor.calls).toHaveLength(0);
  await endRecovery(db.as('waybill_operations'), 'ada');
  expect(await attempt(keyed)).toMatchObject({ kind: 'acknowledged' });
  expect(await attempt(plain)).toMatchObject({ kind: 'settled', state: 'Failed' });
  expect(vendor.calls).toHaveLength(1);
});

test('no loop of the express lane makes a call that is sent: it is a workflow’s from its start', async () => {
  const ref = await stored('send');
  const claim = { owner: 'loop', limit: 10, onBroken: () => undefined };
  expect(await expressTenants(db.as('waybill_operations'), '', 10)).toEqual([]);
  expect(await claimExpress(db.as('waybill_data'), ref.tenantId, claim)).toEqual([]);
  const [row] = await db.rows(
    'select lane, driver, state from waybill.deliveries where delivery_id = $1',
    [ref.deliveryId],
  );
  expect(row).toEqual({ lane: 'durable', driver: 'workflow', state: 'Received' });
  expect(await attempt(ref)).toMatchObject({ kind: 'acknowledged' });
});

test("calls count for the tenant's share of what is under way", async () => {
  await db.rows('update waybill.settings set tenant_in_flight = 1');
  vendor.decide = () => 'hang';
  const [first, second] = [await stored('send'), await stored('send')];
  const before = vendor.calls.length;
  const hanging = attempt(first);
  await vendor.seen(before + 1);
  expect(await attempt(second)).toMatchObject({ kind: 'held', why: 'tenant_busy' });
  vendor.decide = () => null;
  await hanging;
  expect(await attempt(second)).toMatchObject({ kind: 'acknowledged' });
});

test('what was to be repeated by a key of the vendor is not, once its operation has none any more', async () => {
  vendor.decide = () => ({ status: 500 });
  const ref = await stored('keyed');
  expect(await attempt(ref)).toMatchObject({ kind: 'retry', reason: 'status_refused' });
  vendor.decide = () => null;
  const calls = vendor.calls.length;
  await db.rows(
    `update waybill.connector_versions set outbound = jsonb_set(outbound, '{keyed}', outbound->'send')`,
  );
  await db.rows('update waybill.deliveries set next_attempt_at = null where delivery_id = $1', [
    ref.deliveryId,
  ]);
  expect(await attempt(ref)).toMatchObject({ kind: 'failed', reason: 'uncertain' });
  expect(vendor.calls).toHaveLength(calls);
});

test('what is being sent through a revoked connection is looked at soon, whenever it is due', async () => {
  vendor.decide = () => ({ status: 503, headers: { 'retry-after': '3000' } });
  const ref = await stored('send');
  expect(await attempt(ref)).toMatchObject({ kind: 'retry' });
  vendor.decide = () => null;
  await db.rows(
    `update waybill.deliveries set attend_at = clock_timestamp() + interval '1 hour',
    next_attempt_at = clock_timestamp() + interval '1 hour' where delivery_id = $1`,
    [ref.deliveryId],
  );
  // Of another one an attempt is under way then, whose answer puts the next one off as long.
  const late = await stored('send');
  const { attempt: number } = (await open(db, late)).info;
  await db.rows(`update waybill.instances set status = 'revoked' where instance_id = 'pay'`);
  const operations = db.as('waybill_operations');
  const wakes = async ({ deliveryId: id }: typeof ref) => {
    expect(await wakeEnded(operations, 10)).toBe(1);
    expect(await claimUnattended(operations, 10, 1_000)).toMatchObject([
      { delivery_id: id, wake: true },
    ]);
    expect(await wakeEnded(operations, 10)).toBe(0);
  };
  await wakes(ref);
  expect(await attempt(ref)).toMatchObject({ kind: 'failed', reason: 'instance_revoked' });
  const at = { ...late, attempt: number };
  const refused = { ...retryIn(3_600_000), targetHealth: null };
  await closeAttempt(db.as('waybill_data'), at, refused, null);
  await wakes(late);
  expect(await attempt(late)).toMatchObject({ kind: 'failed', reason: 'instance_revoked' });
});
