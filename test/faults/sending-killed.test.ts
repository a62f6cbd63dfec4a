/**
 * SIGKILL of a real worker, and of a real API, between any two steps of something that is sent; a worker
 * that is stopped in mid call. Doubled: the vendor alone, which records what it gets. Verdict: its records,
 * the rows, the events and the receipts.
 */
import type { PointName } from '../../src/points';
import { FaultRig } from '../support/fault-rig';
import {
  httpOperation,
  insertConnection,
  orderOf,
  refOf,
  sender,
  sent,
} from '../support/sending-rig';
import { until } from '../support/until';

let faults: FaultRig;
beforeAll(async () => {
  faults = await FaultRig.start();
  const { rig } = faults;
  const operations = {
    plain: httpOperation(rig.receiver.url),
    keyed: httpOperation(rig.receiver.url, { idempotencyHeader: 'idempotency-key' }),
    slow: httpOperation(rig.receiver.url, { timeoutMs: 60_000 }),
  };
  await insertConnection(rig.db, { name: 'vendor', operations });
});
afterAll(() => faults.stop());

const OPERATIONS = ['plain', 'keyed'] as const;

test.each<{ point: PointName; seen: number }>([
  { point: 'attempt.opened', seen: 0 },
  { point: 'attempt.answered', seen: 1 },
])(
  'of a worker killed at $point nobody can tell: only where the vendor knows a key it is sent again',
  async ({ point, seen }) => {
    const { rig } = faults;
    const before = rig.receiver.calls.length;
    const doomed = await faults.worker(point);
    const sending = sender(rig, { heartbeatMs: 1_000 });
    const orders = OPERATIONS.map((operation) => orderOf('vendor', { operation, waitMs: 0 }));
    const [plain, keyed] = (await Promise.all(orders.map(sending))).map((answer) => sent(answer));
    if (plain === undefined || keyed === undefined) throw new Error('one was not sent');
    await doomed.heldAt(point);
    await until('both attempts are open, and made as far as that', async () => {
      const open = await rig.db.rows(
        'select from waybill.delivery_attempts where closed_at is null',
      );
      const made = rig.receiver.calls.length - before;
      return open.length === 2 && made === 2 * seen ? open : null;
    });
    await doomed.kill();
    const heir = await faults.worker();
    expect(await rig.reaches(refOf(plain), 'Failed')).toMatchObject({
      ...{ reason: 'uncertain', attempts: 1, receipt_seq: 1 },
    });
    expect(await rig.reaches(refOf(keyed), 'Acknowledged')).toMatchObject({
      ...{ reason: null, attempts: 2, receipt_seq: 1 },
    });
    const keys = rig.receiver.calls.slice(before).map(({ headers }) => headers['idempotency-key']);
    const plainOnes = keys.filter((key) => key === undefined);
    expect(plainOnes).toHaveLength(seen);
    expect(keys.filter((key) => key === keyed.deliveryId)).toHaveLength(seen + 1);
    expect(await rig.events(refOf(plain))).toEqual(['delivery-failed']);
    expect(await rig.events(refOf(keyed))).toEqual(['delivery-dispatched']);
    await heir.stop();
  },
);

test('a worker told to stop in mid call, with less grace than that takes, leaves it unknown and sent once', async () => {
  const { rig } = faults;
  const before = rig.receiver.calls.length;
  const stopped = await faults.worker(undefined, { WAYBILL_SHUTDOWN_GRACE: '100ms' });
  rig.receiver.answers.push('hang');
  const answer = await sender(rig)(orderOf('vendor', { operation: 'slow', waitMs: 0 }));
  const ref = refOf(sent(answer));
  await rig.receiver.seen(before + 1);
  await stopped.stop();
  // The attempt is closed by who made it: nobody has to find that it is lost.
  expect(await rig.row(ref)).toMatchObject({ state: 'Failed', reason: 'uncertain', attempts: 1 });
  const heir = await faults.worker();
  expect(await rig.says(ref, /Failed/)).toContain('uncertain');
  await rig.waits(ref);
  expect(rig.receiver.calls).toHaveLength(before + 1);
  expect(await rig.events(ref)).toEqual(['delivery-failed']);
  expect(await rig.receipts(ref)).toHaveLength(1);
  await heir.stop();
});

test('an API killed before it answers has stored it: the same call again meets it', async () => {
  const { rig } = faults;
  const before = rig.receiver.calls.length;
  const doomed = await faults.api('sending.stored');
  const lost = deliver(doomed.url).catch(() => 'lost');
  await doomed.api.heldAt('sending.stored');
  await doomed.api.kill();
  expect(await lost).toBe('lost');
  const [next, worker] = [await faults.api(), await faults.worker()];
  expect(await deliver(next.url)).toMatchObject({ state: 'Acknowledged', attempts: 1 });
  expect(rig.receiver.calls).toHaveLength(before + 1);
  const rows = await rig.db.rows(`select from waybill.deliveries where dedup_key = 'killed-api'`);
  expect(rows).toHaveLength(1);
  await next.api.stop();
  await worker.stop();
});

async function deliver(url: string): Promise<unknown> {
  const token = await faults.token(['factory.deliveries.send']);
  const response = await fetch(`${url}/v1/deliver`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      'idempotency-key': 'killed-api',
    },
    body: JSON.stringify({
      ...{ connector: 'vendor', connectionId: 'vendor', operation: 'plain' },
      ...{ payload: { n: 1 }, waitMs: 10_000 },
    }),
  });
  return await response.json();
}
