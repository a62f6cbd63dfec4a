/**
 * SIGKILL of a real host process at each of the five boundaries of an execution, with an action of each
 * way to find out under way on it; it comes back with its store. Another host of the instance is ready
 * all the while. Doubled: nothing. Verdict: the provider's own records and the rows.
 */
import type { HostPoint } from '../../src/hosts/kit/points';
import { ActionFaultRig, type Lane } from '../support/action-fault-rig';
import { hostKilledAt, needsOperator } from '../support/host-deaths';

let faults: ActionFaultRig;
let lane: Lane;

beforeAll(async () => {
  faults = await ActionFaultRig.start();
  lane = faults.lane();
  await lane.worker();
});
afterAll(async () => {
  await faults.stop();
});

const POINTS: readonly { point: HostPoint; blind: 'completes' | 0 | 1 }[] = [
  { point: 'before_intent_persistence', blind: 'completes' },
  { point: 'intent_persisted', blind: 0 },
  { point: 'provider_effect_committed', blind: 1 },
  { point: 'provider_response_received', blind: 1 },
  { point: 'result_persisted', blind: 'completes' },
];

test.each(POINTS)('killed at $point and back: one effect', async ({ point, ...expected }) => {
  const { lookup, keyed, blind, peer } = await hostKilledAt(faults, lane, {
    point,
    start: (nth, changes) => faults.host(nth, changes),
  });
  const heir = await faults.host(0);
  await Promise.all([
    faults.completes(lookup),
    faults.completes(keyed),
    expected.blind === 'completes'
      ? faults.completes(blind)
      : needsOperator(faults, blind, expected.blind),
  ]);
  await faults.balances();
  // Orderly, so that nothing is routed to what is gone.
  await Promise.all([heir.stop(), peer.stop()]);
});
