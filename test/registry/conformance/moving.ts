/** Actions that an operator moves to another host, and rollouts that move none. */
import { tenantId } from '../../../src/domain/ids';
import type { Rig } from '../fixture';

const WISH = { by: 'ada', reason: 'its host is gone for good' };
const at = (actionId: string) => ({ tenantId: tenantId('acme'), actionId });

export function movingConformance(rig: () => Rig): void {
  beforeEach(async () => {
    await rig().account();
    await rig().host({ replica: 'h1' });
  });
  const begin = (action: string, above: number | null = null) =>
    rig().registry.operator.beginRepin(at(action), above);
  const sealOf = async (action: string) => {
    const begun = await begin(action);
    if (begun.kind !== 'seal') throw new Error(JSON.stringify(begun));
    return begun;
  };
  const conclude = (action: string, fence: number) =>
    rig().registry.operator.concludeRepin({ ...at(action), fence }, WISH, {
      answer: 'not_started',
    });
  const move = async (action: string) => conclude(action, (await sealOf(action)).fence);
  const refused = (why: string) => ({ kind: 'refused', why });

  describe('an action that is moved', () => {
    test('is reserved on another host, with a fence above all of the old route', async () => {
      const first = await rig().reserved('a1');
      await rig().settle('a1', first.reservation.fence, 'not_started');
      await rig().call('h1', 'offline');
      await rig().host({ replica: 'h2' });
      expect(await rig().reserve('a1', { attemptNo: 2 })).toMatchObject({
        why: 'pinned_unavailable',
      });
      const seal = await sealOf('a1');
      expect(seal.route).toEqual(first.route);
      expect(seal.fence).toBeGreaterThan(first.reservation.fence);
      expect(await conclude('a1', seal.fence)).toEqual({ kind: 'repinned' });
      expect(await begin('a1')).toEqual({ kind: 'already' });
      expect(await conclude('a1', seal.fence)).toEqual({ kind: 'already' });
      const second = await rig().reserved('a1', { attemptNo: 2 });
      expect(second.route.replicaId).toBe('h2');
      expect(second.reservation.fence).toBeGreaterThan(seal.fence);
      const { resolver } = rig().registry;
      expect(await resolver.readRoute(tenantId('acme'), 'a1')).toEqual(second.route);
    });

    test('is still answered to whoever asks about its old attempts', async () => {
      const { reservation } = await rig().reserved('a1');
      await rig().settle('a1', reservation.fence, 'not_started');
      await move('a1');
      const again = () => rig().settle('a1', reservation.fence, 'not_started');
      expect(await again()).toEqual({ kind: 'already_settled' });
      expect(await rig().reserve('a1')).toMatchObject({ kind: 'settled', attemptNo: 1 });
      await rig().reserved('a1', { attemptNo: 2 });
      expect(await again()).toEqual({ kind: 'already_settled' });
      const late = await rig().settle('a1', reservation.fence, 'completed');
      expect(late).toEqual({ kind: 'fence_lost', settlement: 'not_started' });
      expect(await rig().fixture.lateEvidence('acme', 'a1', reservation.fence)).toHaveLength(1);
      expect(await rig().reserve('a1')).toEqual({ kind: 'superseded', attemptNo: 2 });
      expect((await rig().registry.fleet.status()).activeAssignments).toBe(1);
    });

    test('may be moved again, and waits like any other where nothing is free', async () => {
      await rig().run('a1', 'not_started');
      await move('a1');
      await rig().call('h1', 'offline');
      expect(await rig().reserve('a1', { attemptNo: 2 })).toMatchObject({ why: 'none_ready' });
      expect(await begin('a1')).toEqual({ kind: 'already' });
      await rig().host({ replica: 'h2' });
      const second = await rig().reserved('a1', { attemptNo: 2 });
      await rig().settle('a1', second.reservation.fence, 'not_started');
      expect((await sealOf('a1')).route.replicaId).toBe('h2');
      await move('a1');
      const third = await rig().reserved('a1', { attemptNo: 3 });
      expect(third.reservation.fence).toBeGreaterThan(second.reservation.fence);
    });

    test('counts as a retry wherever it goes', async () => {
      await rig().run('a1', 'not_started');
      await rig().account({ instance: 'second', quota: 'few', priority: 1 });
      await rig().fixture.change({ quota: { id: 'few', limits: { tenant_retry: 1 } } });
      await rig().host({ replica: 's1', instance: 'second' });
      await move('a1');
      const { route } = await rig().reserved('a1', { attemptNo: 2 });
      expect(route.instanceId).toBe('second');
      expect(await rig().fixture.held()).toEqual({ 'tenant_retry acme': 1 });
    });
  });

  describe('it stays where it is', () => {
    test('while a reservation is open, or what became of it is not known', async () => {
      await rig().reserved('open');
      expect(await begin('open')).toEqual(refused('attempt_open'));
      await rig().run('lost', 'outcome_unknown');
      expect(await begin('lost')).toEqual(refused('outcome_unknown'));
      await rig().clearUp('lost');
      expect((await begin('lost')).kind).toBe('seal');
    });

    test('when it is over, was never reserved, or is not there', async () => {
      await rig().start('fresh');
      expect(await begin('fresh')).toEqual(refused('no_route'));
      const { reservation } = await rig().reserved('done');
      const result = { outcome: 'cancelled', resultSha256: null, errorCode: null } as const;
      await rig().settle('done', reservation.fence, 'not_started');
      const end = { ...at('done'), from: ['requested'], to: 'cancelled' } as const;
      const { ledger } = rig().registry;
      await ledger.moveAction({ ...end, reason: null, waiting: false, result });
      expect(await begin('done')).toEqual(refused('closed'));
      expect(await begin('nobody')).toEqual({ kind: 'unknown_action' });
      expect(await conclude('nobody', 1)).toEqual({ kind: 'unknown_action' });
    });

    test('when something else was done with it while its host was asked', async () => {
      await rig().run('a1', 'not_started');
      const seal = await sealOf('a1');
      const retry = await rig().reserved('a1', { attemptNo: 2 });
      expect(retry.reservation.fence).toBeGreaterThan(seal.fence);
      expect(await conclude('a1', seal.fence)).toEqual(refused('attempt_open'));
      await rig().settle('a1', retry.reservation.fence, 'not_started');
      expect(await conclude('a1', seal.fence)).toEqual(refused('overtaken'));
      expect((await rig().reserved('a1', { attemptNo: 3 })).route).toEqual(retry.route);
    });

    test('on the account of its conversation', async () => {
      const affinityKey = 'thread-1';
      const first = await rig().reserved('a1', { affinityKey });
      expect(first.route.instanceId).toBe('main');
      await rig().settle('a1', first.reservation.fence, 'not_started');
      await rig().account({ instance: 'second', priority: 1 });
      await rig().host({ replica: 's1', instance: 'second' });
      await move('a1');
      const second = await rig().reserved('a1', { affinityKey, attemptNo: 2 });
      expect(second.route.instanceId).toBe('main');
    });
  });

  test('a fence goes above what the old host reports', async () => {
    await rig().run('a1', 'not_started');
    const { fence } = await sealOf('a1');
    expect(await begin('a1', fence + 1_000_000_000)).toMatchObject({
      fence: fence + 1_000_000_001,
    });
  });

  test('what was sent to the old host, and is not known to be unsent, may be on the wire', async () => {
    await rig().run('unsent', 'not_started');
    expect((await sealOf('unsent')).mayBeOnTheWire).toBe(false);
  });
}
