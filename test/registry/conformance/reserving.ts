/** Who gets which answer when an action is reserved, again, or by somebody else. */
import { tenantId } from '../../../src/domain/ids';
import type { Rig } from '../fixture';
import { CAPABILITY } from '../fixture';

export function reservingConformance(rig: () => Rig): void {
  beforeEach(async () => {
    await rig().account();
    await rig().host({ replica: 'h1' });
  });

  test('what needs an approval by a binding is not reserved anywhere, as long as that is enabled', async () => {
    await rig().account({ instance: 'other', priority: 200 });
    await rig().fixture.change({ approval: { instance: 'other', required: true } });
    const needed = async () => {
      const { catalog } = rig().registry;
      return (await catalog.find(tenantId('acme'), CAPABILITY))?.approvalNeeded;
    };
    expect(await needed()).toBe(true);
    expect(await rig().reserve('a')).toEqual({ kind: 'approval_required' });
    await rig().fixture.change({ binding: { instance: 'other', enabled: false } });
    expect(await needed()).toBe(false);
    expect((await rig().reserved('a')).route.instanceId).toBe('main');
  });

  test('the route names everything that the host and the token need', async () => {
    const { route, reservation } = await rig().reserved('a1');
    expect(route).toMatchObject({
      ...{ tenantId: 'acme', actionId: 'a1', capabilityId: CAPABILITY, connectorId: 'tracker' },
      ...{ instanceId: 'main', version: '1.0.0', replicaId: 'h1', peerDid: 'did:key:h1' },
      ...{ endpoint: 'http://127.0.0.1:1', transportProfile: 'http-loopback' },
      topology: { region: 'eu', zone: 'a', capacityClass: 'standard' },
      ...{ bindingPolicyRevision: 1, credentialRevision: 'r1', quotaPolicyId: null },
    });
    expect(reservation).toMatchObject({ attemptNo: 1, incarnation: 1, probe: false });
    expect(reservation.deadlineInMs).toBeGreaterThan(15_000);
    const { resolver } = rig().registry;
    expect(await resolver.readRoute(route.tenantId, 'a1')).toEqual(route);
    expect(await rig().stateOf('a1')).toBe('reserved');
  });

  test('the same owner and number is answered, not repeated', async () => {
    const first = await rig().reserved('a1');
    const again = await rig().reserved('a1');
    expect(again.route).toEqual(first.route);
    expect(again.reservation.fence).toBe(first.reservation.fence);
    expect((await rig().registry.fleet.status()).activeAssignments).toBe(1);
  });

  test('another owner, or the next number too early, is told to wait', async () => {
    await rig().reserved('a1');
    const other = await rig().reserve('a1', { owner: 'somebody else' });
    expect(other).toMatchObject({ kind: 'in_progress' });
    expect(await rig().reserve('a1', { attemptNo: 2 })).toMatchObject({ kind: 'in_progress' });
  });

  test('a settled attempt is answered as such, an older one as superseded', async () => {
    await rig().run('a1', 'not_started');
    expect(await rig().reserve('a1')).toEqual({
      ...{ kind: 'settled', settlement: 'not_started', attemptNo: 1 },
    });
    await rig().reserved('a1', { attemptNo: 2 });
    expect(await rig().reserve('a1')).toEqual({ kind: 'superseded', attemptNo: 2 });
  });

  test('another capability or request under the same id is a conflict', async () => {
    const capabilityId = 'tickets.delete';
    expect(await rig().reserve('a1', { capabilityId })).toMatchObject({ kind: 'conflict' });
    const requestDigest = '0'.repeat(64);
    expect(await rig().reserve('a1', { requestDigest })).toMatchObject({ kind: 'conflict' });
    expect(await rig().start('a1', 'acme', capabilityId)).toMatchObject({ kind: 'conflict' });
    expect((await rig().start('a1')).kind).toBe('existing');
  });

  test('an action that was never started is unknown, and two tenants may use one id', async () => {
    const { resolver } = rig().registry;
    expect(await resolver.reserveRoute(rig().request('nobody'))).toEqual({
      kind: 'unknown_action',
    });
    await rig().account({ tenant: 'globex', instance: 'theirs' });
    await rig().host({ replica: 'g1', tenant: 'globex', instance: 'theirs' });
    await rig().reserved('a1');
    const theirs = await rig().reserved('a1', { tenantId: tenantId('globex') });
    expect(theirs.route.replicaId).toBe('g1');
  });

  test('a retry is pinned to its host, with a higher fence', async () => {
    const first = await rig().reserved('a1');
    await rig().host({ replica: 'h2', capacity: 100 });
    await rig().settle('a1', first.reservation.fence, 'not_started');
    const second = await rig().reserved('a1', { attemptNo: 2 });
    expect(second.route).toEqual(first.route);
    expect(second.reservation.fence).toBeGreaterThan(first.reservation.fence);
  });

  test('what became of it is unknown: nothing is reserved until that is cleared up', async () => {
    await rig().run('a1', 'outcome_unknown');
    const refused = { kind: 'not_requested', state: 'unknown' };
    expect(await rig().reserve('a1', { attemptNo: 2 })).toEqual(refused);
    await rig().clearUp('a1');
    await rig().reserved('a1', { attemptNo: 2 });
  });

  test('a finished action answers its result', async () => {
    await rig().run('a1', 'cancelled');
    const result = { outcome: 'cancelled', resultSha256: null, errorCode: null } as const;
    const move = { tenantId: tenantId('acme'), actionId: 'a1', reason: null, waiting: false };
    const cancel = { ...move, from: ['reserved'], to: 'cancelled' } as const;
    const { ledger } = rig().registry;
    expect((await ledger.moveAction({ ...cancel, result: null })).kind).toBe('refused');
    expect((await ledger.moveAction({ ...cancel, result })).kind).toBe('moved');
    expect((await ledger.moveAction({ ...cancel, result })).kind).toBe('already');
    expect(await rig().reserve('a1', { attemptNo: 2 })).toEqual({ kind: 'finished', result });
    expect((await rig().start('a1')).action.result).toEqual(result);
  });

  test('its own overdue attempt is ended first', async () => {
    await rig().reserved('a1', { holdMs: 5_000 });
    await rig().fixture.elapse(6_000);
    const expired = { kind: 'settled', settlement: 'lease_expired', attemptNo: 1 };
    expect(await rig().reserve('a1')).toEqual(expired);
    expect((await rig().registry.fleet.status()).activeAssignments).toBe(0);
  });

  test('a fence goes above what a host reported, at most a day ahead', async () => {
    const day = 86_400_000_000;
    const { reservation } = await rig().reserved('a1');
    const aboveFence = reservation.fence + 3_600_000_000;
    const tenant = tenantId('acme');
    const { resolver } = rig().registry;
    expect(await resolver.nextFence(tenant, 'a1', aboveFence)).toBe(aboveFence + 1);
    const far = await resolver.nextFence(tenant, 'a1', reservation.fence + 100 * day);
    expect(far).toBeGreaterThan(aboveFence + 1);
    expect(far).toBeLessThan(reservation.fence + 2 * day);
    expect(await resolver.nextFence(tenant, 'nobody', null)).toBeNull();
    await rig().settle('a1', reservation.fence, 'not_started');
    const next = await rig().reserved('a1', { attemptNo: 2 });
    expect(next.reservation.fence).toBe((far ?? 0) + 1);
  });
}
