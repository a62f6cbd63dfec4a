/**
 * SIGKILL of a real worker process between any two steps of an action; another one takes it on.
 * Doubled: nothing. Verdict: the provider's own records and the rows.
 */
import type { PointName } from '../../src/points';
import { ActionFaultRig, SHORT_HEARTBEAT_MS } from '../support/action-fault-rig';
import { sideBySide } from '../support/side-by-side';

let faults: ActionFaultRig;
let verdict: (point: PointName) => Promise<void>;

/** Attempts that it takes when the worker dies there, once. */
const AT_FIRST: Partial<Record<PointName, number>> = {
  'reserve.begun': 1,
  // Answered with the same attempt, although the workflow never heard of it.
  'reserve.done': 1,
  'dispatch.begun': 2,
  'dispatch.opened': 2,
  'dispatch.answered': 1,
  'dispatch.closed': 1,
};
/** Reached only once the answer of a first worker was lost. */
const AFTER_A_LOSS: readonly PointName[] = [
  'settle.begun',
  'settle.done',
  'fencing.begun',
  'fencing.opened',
  'fencing.answered',
  'fencing.concluded',
];
const POINTS = [...AFTER_A_LOSS, ...(Object.keys(AT_FIRST) as PointName[])];

beforeAll(async () => {
  faults = await ActionFaultRig.start();
  await Promise.all([faults.host(0), faults.host(1)]);
  verdict = sideBySide(POINTS, 6, killedAt);
});
afterAll(async () => {
  await faults.stop();
});

async function killedAt(point: PointName): Promise<void> {
  const lane = faults.lane({ heartbeatMs: SHORT_HEARTBEAT_MS });
  const lost = AFTER_A_LOSS.includes(point);
  const first = lost ? 'dispatch.answered' : point;
  const doomed = await lane.worker(first);
  const ref = await lane.start();
  await doomed.heldAt(first);
  await doomed.kill();
  if (lost) {
    const second = await lane.worker(point);
    await second.heldAt(point);
    await second.kill();
  }
  await lane.heir();
  const row = await faults.completes(ref);
  expect(row.attempt?.attemptNo).toBe(AT_FIRST[point] ?? 1);
  await expect(faults.rig.handle(ref).result()).resolves.toEqual({ state: 'completed' });
  await faults.balancesBeside();
}

test.each(POINTS)('a worker killed at %s: one effect, one result', async (point) => {
  await verdict(point);
});

test('nothing is left open or counted', async () => {
  await faults.balances();
});
