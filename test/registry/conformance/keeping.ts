/** What is left of actions that are over, and the hold after a restore. */
import { tenantId } from '../../../src/domain/ids';
import type { Rig } from '../fixture';
import { requestOf } from '../fixture';

export function keepingConformance(rig: () => Rig): void {
  beforeEach(async () => {
    await rig().account();
    await rig().host({ replica: 'h1' });
  });
  const at = (action: string, fence: number) => ({
    ...{ tenantId: tenantId('acme'), actionId: action, fence },
  });
  const complete = async (action: string) => {
    const { reservation } = await rig().reserved(action);
    const { resolver, ledger } = rig().registry;
    const result = { outcome: 'failed', resultSha256: null, errorCode: 'not_there' } as const;
    await resolver.recordResult(at(action, reservation.fence), result, {});
    await rig().settle(action, reservation.fence, 'outcome_unknown');
    const move = { ...at(action, 0), reason: null, waiting: false, result: null };
    await ledger.moveAction({ ...move, from: ['unknown'], to: 'reconciling' });
    await ledger.moveAction({ ...move, from: ['reconciling'], to: 'failed' });
    return result;
  };

  test('an action that was removed is known by its id, with its result', async () => {
    const result = await complete('a1');
    expect(await rig().fixture.bury('acme', 'a1')).toBe(true);
    const known = { kind: 'existing', action: { state: 'failed', result } };
    expect(await rig().start('a1')).toMatchObject(known);
    expect(await rig().start('a1')).toMatchObject(known);
  });

  test('its id with another capability or request is a conflict', async () => {
    await complete('a1');
    await rig().fixture.bury('acme', 'a1');
    expect(await rig().start('a1', 'acme', 'tickets.close')).toMatchObject({ kind: 'conflict' });
    const other = await rig().registry.ledger.startAction({
      ...{ tenantId: tenantId('acme'), actionId: 'a1', capabilityId: 'tickets.create' },
      ...{ request: requestOf('another'), affinityKey: null, requestedBy: 'ada' },
      ...{ deadlineMs: 1_000, retryBudget: 0, attendAfterMs: 1_000 },
    });
    expect(other).toMatchObject({ kind: 'conflict' });
  });

  test('it is never routed afresh, and has no route any more', async () => {
    const result = await complete('a1');
    await rig().fixture.bury('acme', 'a1');
    for (const attemptNo of [1, 2]) {
      expect(await rig().reserve('a1', { attemptNo })).toEqual({ kind: 'finished', result });
    }
    expect(await rig().registry.resolver.readRoute(tenantId('acme'), 'a1')).toBeNull();
    expect(await rig().settle('a1', 1, 'completed')).toEqual({ kind: 'unknown_route' });
    expect(await rig().fixture.held()).toEqual({});
  });

  test('another tenant may use the id', async () => {
    await complete('a1');
    await rig().fixture.bury('acme', 'a1');
    expect(await rig().start('a1', 'globex')).toMatchObject({ kind: 'started' });
  });

  test('an action that is open is not removed', async () => {
    await rig().reserved('a1');
    expect(await rig().fixture.bury('acme', 'a1')).toBe(false);
    expect(await rig().stateOf('a1')).toBe('reserved');
  });

  test('while the deployment recovers nothing is reserved; what was reserved is answered', async () => {
    const first = await rig().reserved('a1');
    await rig().fixture.recovering(true);
    expect(await rig().reserve('a2')).toMatchObject({ kind: 'recovering' });
    expect(await rig().reserve('a1')).toMatchObject({
      ...{ kind: 'reserved', reservation: { fence: first.reservation.fence } },
    });
    await rig().fixture.recovering(false);
    await rig().call('h1', 'register');
    await rig().call('h1', 'heartbeat');
    expect(await rig().reserve('a2')).toMatchObject({ kind: 'reserved' });
  });
}
