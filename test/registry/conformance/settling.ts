/** Ending an attempt, its result, and what comes too late. */
import type { ActionState } from '../../../src/domain/action-states';
import { tenantId } from '../../../src/domain/ids';
import type { Rig } from '../fixture';

const DONE = { outcome: 'succeeded', resultSha256: 'ab'.repeat(32), errorCode: null } as const;
const OTHER = { outcome: 'failed', resultSha256: null, errorCode: 'refused' } as const;

export function settlingConformance(rig: () => Rig): void {
  const at = (fence: number) => ({ tenantId: tenantId('acme'), actionId: 'a1', fence });
  const record = (fence: number, result: typeof DONE | typeof OTHER) =>
    rig().registry.resolver.recordResult(at(fence), result, { seen: result.outcome });
  const open = async () => (await rig().registry.fleet.status()).openAttempts;
  const move = (from: ActionState, to: ActionState) =>
    rig().registry.ledger.moveAction({
      ...{ tenantId: tenantId('acme'), actionId: 'a1', from: [from], to },
      ...{ reason: null, waiting: false, result: null },
    });

  beforeEach(async () => {
    await rig().account({ quota: 'all' });
    const limits = { binding: 5, instance: 5, connector: 5, tenant: 5, global: 5 };
    await rig().fixture.change({ quota: { id: 'all', limits } });
    await rig().host({ replica: 'h1' });
  });

  test('frees everything that the attempt took, once', async () => {
    const { reservation } = await rig().reserved('a1');
    expect(Object.keys(await rig().fixture.held())).toHaveLength(5);
    expect(await rig().settle('a1', reservation.fence, 'completed')).toEqual({ kind: 'settled' });
    const again = await rig().settle('a1', reservation.fence, 'completed');
    expect(again).toEqual({ kind: 'already_settled' });
    expect(await rig().fixture.held()).toEqual({});
    const status = await rig().registry.fleet.status();
    expect(status).toMatchObject({ openAttempts: 0, activeAssignments: 0 });
  });

  test('with an old fence changes nothing, and its evidence is kept', async () => {
    const first = (await rig().reserved('a1')).reservation.fence;
    await rig().settle('a1', first, 'not_started');
    const second = (await rig().reserved('a1', { attemptNo: 2 })).reservation.fence;
    const lost = { kind: 'fence_lost', settlement: 'not_started' };
    expect(await rig().settle('a1', first, 'completed')).toEqual(lost);
    expect(await open()).toBe(1);
    const [late] = await rig().fixture.lateEvidence('acme', 'a1', first);
    expect(late).toMatchObject({ settlement: 'completed' });
    expect(await rig().settle('a1', second, 'completed')).toEqual({ kind: 'settled' });
  });

  test('of what is not there goes to a person', async () => {
    const unknown = { kind: 'unknown_route' };
    expect(await rig().settle('nobody', 1, 'completed')).toEqual(unknown);
    const { fence } = (await rig().reserved('a1')).reservation;
    expect(await rig().settle('a1', fence + 1, 'completed')).toEqual(unknown);
    expect(await record(fence + 1, DONE)).toEqual(unknown);
    const { resolver } = rig().registry;
    expect(await resolver.extendReservation(at(fence + 1), 1_000)).toEqual(unknown);
    const sealed = (await resolver.nextFence(tenantId('acme'), 'a1', null)) ?? 0;
    const lost = { kind: 'fence_lost', settlement: null };
    expect(await rig().settle('a1', sealed, 'completed')).toEqual(lost);
  });

  test.each([
    ['not_started', 'requested'],
    ['outcome_unknown', 'unknown'],
    ['lease_expired', 'unknown'],
    ['completed', 'dispatching'],
  ] as const)('as %s leaves a dispatched action %s', async (settlement, state) => {
    const { fence } = (await rig().reserved('a1')).reservation;
    await move('reserved', 'dispatching');
    await rig().settle('a1', fence, settlement);
    expect(await rig().stateOf('a1')).toBe(state);
  });

  test('nothing began of what is being cancelled: that is cleared up by whoever cancels it', async () => {
    const { fence } = (await rig().reserved('a1')).reservation;
    await move('reserved', 'dispatching');
    await move('dispatching', 'cancelling');
    await rig().settle('a1', fence, 'not_started');
    expect(await rig().stateOf('a1')).toBe('unknown');
  });

  test('the result is written once and closes the action', async () => {
    const { fence } = (await rig().reserved('a1')).reservation;
    await move('reserved', 'dispatching');
    expect(await record(fence, DONE)).toEqual({ kind: 'recorded' });
    expect(await rig().stateOf('a1')).toBe('completed');
    expect(await record(fence, DONE)).toEqual({ kind: 'already_recorded' });
    expect(await record(fence, OTHER)).toEqual({ kind: 'conflict', result: DONE });
    expect(await open()).toBe(1);
    await rig().settle('a1', fence, 'completed');
    expect(await rig().reserve('a1', { attemptNo: 2 })).toEqual({ kind: 'finished', result: DONE });
  });

  test('a late answer after the lease expired still becomes the result', async () => {
    const { fence } = (await rig().reserved('a1', { holdMs: 5_000 })).reservation;
    await move('reserved', 'dispatching');
    await rig().fixture.elapse(6_000);
    expect(await rig().registry.fleet.sweep(10)).toEqual({ offline: 0, settled: 1 });
    const lost = { kind: 'fence_lost', settlement: 'lease_expired' };
    expect(await rig().settle('a1', fence, 'completed')).toEqual(lost);
    expect(await record(fence, DONE)).toEqual({ kind: 'recorded' });
    expect(await rig().stateOf('a1')).toBe('unknown');
    await move('unknown', 'reconciling');
    const closing = { tenantId: tenantId('acme'), actionId: 'a1', reason: null, waiting: false };
    const { ledger } = rig().registry;
    const wrong = { ...closing, from: ['reconciling'], to: 'failed', result: OTHER } as const;
    expect((await ledger.moveAction(wrong)).kind).toBe('refused');
    const right = { ...closing, from: ['reconciling'], to: 'completed', result: null } as const;
    const moved = { kind: 'moved', action: { state: 'completed', result: DONE } };
    expect(await ledger.moveAction(right)).toMatchObject(moved);
  });

  test('an extended reservation holds longer, an overdue one is not brought back', async () => {
    const { fence } = (await rig().reserved('a1', { holdMs: 5_000 })).reservation;
    const { resolver, fleet } = rig().registry;
    const extended = await resolver.extendReservation(at(fence), 20_000);
    expect(extended).toMatchObject({ kind: 'extended' });
    await rig().fixture.elapse(6_000);
    expect((await fleet.sweep(10)).settled).toBe(0);
    await rig().fixture.elapse(15_000);
    expect(await resolver.extendReservation(at(fence), 20_000)).toEqual({ kind: 'fence_lost' });
    expect((await fleet.sweep(10)).settled).toBe(1);
    expect(await rig().fixture.held()).toEqual({});
  });

  test('a state is only left as the state machine allows', async () => {
    await rig().reserved('a1');
    const refused = { kind: 'refused', action: { state: 'reserved' } };
    expect(await move('reserved', 'reconciling')).toMatchObject(refused);
    expect(await move('unknown', 'dispatching')).toMatchObject(refused);
    expect((await move('reserved', 'dispatching')).kind).toBe('moved');
  });
}
