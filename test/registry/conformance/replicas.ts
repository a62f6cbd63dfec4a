/** Leases, incarnations, draining, and the sweep. */
import type { Rig } from '../fixture';

export function replicaConformance(rig: () => Rig): void {
  const statusOf = async (id: string) => (await rig().registry.reader.replica(id))?.status;
  const why = async (action: string, attemptNo = 1) => {
    const answer = await rig().reserve(action, { attemptNo });
    return answer.kind === 'replica_unavailable' ? answer.why : answer.kind;
  };

  beforeEach(async () => {
    await rig().account();
    await rig().host({ replica: 'h1' });
  });

  test('a lost answer is answered again, an older sequence is refused', async () => {
    const { administrator, reader } = rig().registry;
    const call = { replicaId: 'h1', requestId: 'once', previousSequence: 2, healthy: true };
    const first = await administrator.heartbeat(call);
    expect(first).toMatchObject({ kind: 'accepted', sequence: 3, incarnation: 1, status: 'ready' });
    expect(await administrator.heartbeat(call)).toEqual(first);
    const stale = { kind: 'stale_sequence', sequence: 3 };
    expect(await administrator.heartbeat({ ...call, requestId: 'late' })).toEqual(stale);
    expect(await administrator.drain(call)).toEqual(stale);
    const nobody = { ...call, replicaId: 'nobody' };
    expect(await administrator.heartbeat(nobody)).toEqual({ kind: 'unknown_replica' });
    expect(await reader.replica('nobody')).toBeNull();
    expect(await reader.replica('h1')).toMatchObject({
      ...{ tenantId: 'acme', instanceId: 'main', storeEpoch: 'epoch-1', healthRevision: 3 },
    });
  });

  test('readiness changes after several heartbeats in a row that say so', async () => {
    const bad = async () => rig().call('h1', 'unhealthy');
    await bad();
    await bad();
    await rig().call('h1', 'heartbeat');
    await bad();
    await bad();
    expect(await statusOf('h1')).toBe('ready');
    await bad();
    expect(await statusOf('h1')).toBe('registered');
    await rig().call('h1', 'heartbeat');
    await rig().call('h1', 'heartbeat');
    expect(await statusOf('h1')).toBe('registered');
    await rig().call('h1', 'heartbeat');
    expect(await statusOf('h1')).toBe('ready');
  });

  test('a draining host serves what is pinned to it and nothing new, until it is drained', async () => {
    const { fence } = (await rig().reserved('pinned')).reservation;
    await rig().call('h1', 'drain');
    expect(await why('new')).toBe('none_ready');
    await rig().settle('pinned', fence, 'not_started');
    const retry = await rig().reserved('pinned', { attemptNo: 2 });
    await rig().call('h1', 'heartbeat');
    expect(await statusOf('h1')).toBe('draining');
    await rig().settle('pinned', retry.reservation.fence, 'not_started');
    await rig().call('h1', 'heartbeat');
    expect(await statusOf('h1')).toBe('drained');
    expect(await why('pinned', 3)).toBe('pinned_unavailable');
  });

  test('offline fails closed: nothing new, nothing pinned moves, an old heartbeat changes nothing', async () => {
    await rig().run('pinned', 'not_started');
    const before = await rig().sequence('h1');
    await rig().call('h1', 'offline');
    await rig().host({ replica: 'h2' });
    expect(await why('pinned', 2)).toBe('pinned_unavailable');
    expect((await rig().reserved('new')).route.replicaId).toBe('h2');
    const { administrator } = rig().registry;
    const old = { replicaId: 'h1', requestId: 'old', previousSequence: before, healthy: true };
    expect((await administrator.heartbeat(old)).kind).toBe('stale_sequence');
    expect((await rig().call('h1', 'heartbeat')).kind).toBe('must_register');
    expect(await statusOf('h1')).toBe('offline');
    await rig().call('h1', 'register');
    await rig().call('h1', 'heartbeat');
    expect((await rig().reserved('pinned', { attemptNo: 2 })).route.replicaId).toBe('h1');
  });

  test('an expired lease is not routed to, before and after the sweep', async () => {
    await rig().reserved('a1', { holdMs: 100_000 });
    await rig().fixture.elapse(31_000);
    expect(await why('a2')).toBe('none_ready');
    expect(await statusOf('h1')).toBe('ready');
    expect((await rig().call('h1', 'heartbeat')).kind).toBe('must_register');
    expect(await rig().registry.fleet.sweep(10)).toEqual({ offline: 1, settled: 1 });
    expect(await rig().registry.fleet.sweep(10)).toEqual({ offline: 0, settled: 0 });
    expect(await statusOf('h1')).toBe('offline');
    expect(await rig().stateOf('a1')).toBe('unknown');
    const figures = {
      replicas: { offline: 1 },
      openAttempts: 0,
      activeAssignments: 0,
      capacity: 0,
    };
    expect(await rig().registry.fleet.status()).toMatchObject(figures);
  });

  test('a new incarnation releases what the one before it held', async () => {
    const { fence } = (await rig().reserved('a1')).reservation;
    const answer = await rig().call('h1', 'register');
    expect(answer).toMatchObject({ kind: 'accepted', incarnation: 2 });
    await rig().call('h1', 'heartbeat');
    const second = await rig().reserved('a2');
    expect(second.reservation.incarnation).toBe(2);
    expect(await rig().registry.fleet.sweep(10)).toEqual({ offline: 0, settled: 1 });
    const lost = { kind: 'fence_lost', settlement: 'lease_expired' };
    expect(await rig().settle('a1', fence, 'outcome_unknown')).toEqual(lost);
    expect((await rig().registry.fleet.status()).activeAssignments).toBe(1);
  });

  test('a sweep ends at most so many at once', async () => {
    for (let nth = 0; nth < 5; nth += 1) await rig().reserved(`a${nth}`, { holdMs: 1_000 });
    await rig().fixture.elapse(2_000);
    expect((await rig().registry.fleet.sweep(3)).settled).toBe(3);
    expect((await rig().registry.fleet.sweep(3)).settled).toBe(2);
    expect((await rig().registry.fleet.status()).activeAssignments).toBe(0);
  });
}
