/**
 * A real host process is killed by SIGKILL after it has said that it is at work, or before anything was
 * sent to it. The worker that asks again finds nobody there. Doubled: nothing. Verdicts: the provider's
 * own records and the rows.
 */
import { RESOLVE_UPDATE } from '../../src/domain/action-activities';
import type { ActionRef } from '../../src/domain/action-service';
import { actionOfSeries } from '../../src/domain/delivery-actions';
import { deliveryId } from '../../src/domain/ids';
import { ActionFaultRig, type Lane } from '../support/action-fault-rig';
import { needsOperator } from '../support/host-deaths';
import type { HostProcess } from '../hosts/support/host-process';
import { until } from '../support/until';

let faults: ActionFaultRig;
let lane: Lane;
const hosts: HostProcess[] = [];

beforeAll(async () => {
  faults = await ActionFaultRig.start();
  lane = faults.lane();
  await lane.heir();
});
afterEach(async () => {
  await Promise.all(hosts.splice(0).map((host) => host.kill()));
});
afterAll(() => faults.stop());

/** The one host; with the store of the one before it, unless told otherwise. */
const start: ActionFaultRig['host'] = async (nth, changes) => {
  const host = await faults.host(nth, changes);
  hosts.push(host);
  return host;
};

/** A provider that is slow is waited for: nothing is given up before the kill. */
const PATIENT = { providerTimeoutMs: 60_000 };

/** Its effect is there and unanswered, and its host has said that it is at work. */
async function atWork(ref: ActionRef): Promise<void> {
  await faults.heldAtProvider(1);
  await faults.rig.says(ref, /Its host is at work/);
}

/** The host is gone, and the attempt is settled without it. */
async function killed(host: HostProcess, ref: ActionRef, attempts: number): Promise<void> {
  await host.kill();
  await faults.releaseProvider();
  await until('the last attempt is settled', async () => {
    const made = await faults.attempts(ref);
    return made.length === attempts && made.at(-1)?.settlement !== null ? true : null;
  });
  expect((await faults.attempts(ref)).at(-1)).toMatchObject({
    settlement: 'outcome_unknown',
    cause: 'ours',
  });
}

test('killed at work: a refused connection is no proof, and a person is asked', async () => {
  const host = await start(0, PATIENT);
  await faults.holdAtProvider(1);
  const ref = await lane.start('tickets.create_blind', { retryBudget: 0 });
  await atWork(ref);
  await killed(host, ref, 1);
  await start(0);
  const { state } = await faults.rig.reaches(ref, 'needs_operator', 30_000);
  // A delivery that waits for it would meet it in a replay, and start no other one.
  const newest = { actionId: ref.actionId, state, errorCode: null };
  const met = actionOfSeries(deliveryId('018f3b7e-0000-7000-8000-000000000001'), 2, newest);
  expect(met).toEqual({ kind: 'meet', actionId: ref.actionId });
  await needsOperator(faults, ref, 1);
  await faults.balances();
});

test("killed at work: a person's word was for that attempt, and is not kept for a next one", async () => {
  const first = await start(0, { ...PATIENT, holdAt: 'intent_persisted' });
  const ref = await lane.start('tickets.create_blind');
  await first.held(1);
  await first.kill();
  const second = await start(0, PATIENT);
  await faults.rig.reaches(ref, 'needs_operator', 30_000);
  await faults.rig.says(ref, /Needs an operator/);
  expect(await faults.effects(ref)).toEqual({ assigned: 0, elsewhere: 0 });
  await faults.holdAtProvider(1);
  const input = { outcome: 'retry', by: 'ada', reason: 'looked: nothing is there' };
  await faults.rig.handle(ref).executeUpdate(RESOLVE_UPDATE, { args: [input] });
  await atWork(ref);
  await killed(second, ref, 2);
  await start(0);
  await needsOperator(faults, ref, 1);
  expect(await faults.attempts(ref)).toHaveLength(2);
  await faults.balances();
});

test('killed before anything was sent: what comes back without its store does it', async () => {
  const host = await start(0);
  await host.kill();
  const ref = await lane.start('tickets.create_blind');
  const [refused] = await faults.settled(ref);
  expect(refused).toMatchObject({ settlement: 'not_started', cause: null });
  const storeFile = `${faults.described(0).storeFile}.new`;
  const heir = await start(0, { storeFile });
  expect(heir.storeEpoch).not.toBe(host.storeEpoch);
  await faults.completes(ref);
  const ends = (await faults.attempts(ref)).map(({ settlement }) => settlement);
  expect(new Set(ends.slice(0, -1))).toEqual(new Set(['not_started']));
  await faults.balances();
});
