/** Quotas, the rate limit and the circuit. */
import { tenantId } from '../../../src/domain/ids';
import type { Rig } from '../fixture';
import { SCOPES } from '../fixture';

export function capacityConformance(rig: () => Rig): void {
  const why = async (action: string, attemptNo = 1) => {
    const answer = await rig().reserve(action, { attemptNo });
    return answer.kind === 'replica_unavailable' ? answer.why : answer.kind;
  };

  test.each(SCOPES.filter((scope) => scope !== 'tenant_retry'))(
    'the quota of scope %s is never overbooked',
    async (scope) => {
      await rig().account({ quota: 'two' });
      await rig().fixture.change({ quota: { id: 'two', limits: { [scope]: 2 } } });
      await rig().host({ replica: 'h1' });
      const first = await rig().reserved('a1');
      await rig().reserved('a2');
      expect(await rig().reserve('a3')).toMatchObject({ kind: 'capacity_exceeded', scope });
      expect(Object.values(await rig().fixture.held())).toEqual([2]);
      expect((await rig().registry.fleet.status()).activeAssignments).toBe(2);
      await rig().settle('a1', first.reservation.fence, 'completed');
      await rig().reserved('a3');
    },
  );

  test('retries have a scope of their own', async () => {
    await rig().account({ quota: 'retries' });
    await rig().fixture.change({ quota: { id: 'retries', limits: { tenant_retry: 1 } } });
    await rig().host({ replica: 'h1' });
    for (const action of ['a1', 'a2']) await rig().run(action, 'not_started');
    expect(await rig().fixture.held()).toEqual({});
    const retry = await rig().reserved('a1', { attemptNo: 2 });
    const full = { kind: 'capacity_exceeded', scope: 'tenant_retry' };
    expect(await rig().reserve('a2', { attemptNo: 2 })).toMatchObject(full);
    await rig().reserved('a3');
    await rig().settle('a1', retry.reservation.fence, 'completed');
    await rig().reserved('a2', { attemptNo: 2 });
  });

  test('a full wider scope gives the narrower ones back', async () => {
    await rig().account({ quota: 'mixed' });
    const limits = { binding: 5, instance: 5, tenant: 1 };
    await rig().fixture.change({ quota: { id: 'mixed', limits } });
    await rig().host({ replica: 'h1' });
    await rig().reserved('a1');
    const before = await rig().fixture.held();
    expect(await rig().reserve('a2')).toMatchObject({ kind: 'capacity_exceeded', scope: 'tenant' });
    expect(await rig().fixture.held()).toEqual(before);
  });

  test('a limit lowered below what is held lets nothing in until enough came back', async () => {
    await rig().account({ quota: 'two' });
    await rig().fixture.change({ quota: { id: 'two', limits: { tenant: 2 } } });
    await rig().host({ replica: 'h1' });
    const first = await rig().reserved('a1');
    const second = await rig().reserved('a2');
    await rig().fixture.change({ quota: { id: 'two', limits: { tenant: 1 } } });
    await rig().settle('a1', first.reservation.fence, 'completed');
    expect(await rig().reserve('a3')).toMatchObject({ kind: 'capacity_exceeded' });
    await rig().settle('a2', second.reservation.fence, 'completed');
    await rig().reserved('a3');
    expect(Object.values(await rig().fixture.held())).toEqual([1]);
  });

  test('the rate lets a burst through, then says until when', async () => {
    await rig().account();
    const limit = { permits: 1, perMs: 60_000, burst: 2 };
    await rig().fixture.change({ rate: { connector: 'tracker', limit } });
    await rig().host({ replica: 'h1' });
    await rig().reserved('a1');
    await rig().reserved('a2');
    const limited = await rig().reserve('a3');
    if (limited.kind !== 'rate_limited') throw new Error(limited.kind);
    expect(limited.instanceId).toBe('main');
    expect(limited.retryInMs).toBeGreaterThan(50_000);
    expect(limited.retryInMs).toBeLessThanOrEqual(60_000);
    await rig().fixture.change({ settings: { replicaLeaseMs: 600_000 } });
    await rig().call('h1', 'heartbeat');
    await rig().fixture.elapse(limited.retryInMs);
    await rig().reserved('a3');
    expect(await why('a4')).toBe('rate_limited');
  });

  test('another rate goes on with as many as were let through, at its own pace', async () => {
    await rig().account();
    const { fixture } = rig();
    const rate = (perMs: number) =>
      fixture.change({ rate: { connector: 'tracker', limit: { permits: 1, perMs, burst: 5 } } });
    await fixture.change({ settings: { replicaLeaseMs: 600_000 } });
    await rate(3_600_000);
    await rig().host({ replica: 'h1', capacity: 50 });
    for (const action of ['a1', 'a2', 'a3', 'a4', 'a5']) await rig().reserved(action);
    await rate(20_000);
    const soon = await waitOf('b1');
    expect(soon).toBeGreaterThan(15_000);
    expect(soon).toBeLessThanOrEqual(20_000);
    await fixture.elapse(soon);
    await rig().reserved('b1');
    // And back: what a slower one is asked for is not let through for having been quick.
    await rate(3_600_000);
    expect(await waitOf('b2')).toBeGreaterThan(3_500_000);
  });

  const limited = (action: string, fence: number, retryAfterMs: number) =>
    rig().registry.resolver.settleRoute({
      ...{ tenantId: tenantId('acme'), actionId: action, fence, settlement: 'not_started' },
      ...{ unknownCause: null, evidence: {}, retryAfterMs },
    });
  const waitOf = async (action: string, attemptNo = 1) => {
    const answer = await rig().reserve(action, { attemptNo });
    if (answer.kind !== 'rate_limited') throw new Error(answer.kind);
    return answer.retryInMs;
  };

  test.each([
    ['with a rate', { permits: 60, perMs: 60_000, burst: 30 }],
    ['without a rate', null],
  ])('a provider that wants a pause gets it from every process, %s', async (_with, limit) => {
    await rig().account();
    if (limit !== null) await rig().fixture.change({ rate: { connector: 'tracker', limit } });
    await rig().fixture.change({ settings: { replicaLeaseMs: 600_000 } });
    await rig().host({ replica: 'h1' });
    const { reservation } = await rig().reserved('a1');
    expect(await limited('a1', reservation.fence, 40_000)).toEqual({ kind: 'settled' });
    const fence = reservation.fence;
    // A shorter one that is heard of later does not shorten it.
    expect(await limited('a1', fence, 1_000)).toEqual({ kind: 'already_settled' });
    for (const wait of [await waitOf('a1', 2), await waitOf('a2')]) {
      expect(wait).toBeGreaterThan(35_000);
      expect(wait).toBeLessThanOrEqual(40_000);
    }
    await rig().fixture.elapse(40_000);
    await rig().reserved('a1', { attemptNo: 2 });
    await rig().reserved('a2');
    expect((await rig().registry.fleet.status()).activeAssignments).toBe(2);
  });

  test('no provider is believed for longer than a day', async () => {
    await rig().account();
    await rig().host({ replica: 'h1' });
    const { reservation } = await rig().reserved('a1');
    await limited('a1', reservation.fence, 1_000_000_000);
    expect(await waitOf('a2')).toBeLessThanOrEqual(86_400_000);
  });

  test('a full scope says when it may be free: by how fast it drains, within bounds', async () => {
    await rig().account({ quota: 'one' });
    await rig().fixture.change({ quota: { id: 'one', limits: { tenant: 1 } } });
    await rig().fixture.change({ settings: { replicaLeaseMs: 600_000 } });
    await rig().host({ replica: 'h1' });
    const fullFor = async (action: string) => {
      const answer = await rig().reserve(action);
      if (answer.kind !== 'capacity_exceeded') throw new Error(answer.kind);
      return answer.retryInMs;
    };
    const pass = async (prefix: string, everyMs: number) => {
      for (const name of Array.from({ length: 20 }, (_, nth) => `${prefix}${nth}`)) {
        const { reservation } = await rig().reserved(name);
        await rig().fixture.elapse(everyMs);
        await rig().settle(name, reservation.fence, 'completed');
      }
    };
    await pass('slow', 8_000);
    await rig().reserved('held');
    const slow = await fullFor('waits');
    expect(slow).toBeGreaterThan(6_000);
    expect(slow).toBeLessThan(10_000);
    await rig().fixture.elapse(60_000);
    await rig().registry.resolver.reserveRoute(rig().request('held'));
    await pass('quick', 0);
    await rig().reserved('held-2');
    const quick = await fullFor('waits');
    expect(quick).toBeGreaterThanOrEqual(50);
    expect(quick).toBeLessThan(slow / 4);
  });

  describe('the circuit', () => {
    beforeEach(async () => {
      await rig().account();
      const settings = { circuitUnknowns: 3, circuitOpenMs: 60_000, circuitProbes: 1 };
      await rig().fixture.change({ settings: { ...settings, replicaLeaseMs: 600_000 } });
      await rig().host({ replica: 'h1' });
    });
    const unknowns = async (count: number, prefix = 'u') => {
      for (let nth = 0; nth < count; nth += 1)
        await rig().run(`${prefix}${nth}`, 'outcome_unknown');
    };

    test('opens after so many unknowns in a row that the host caused', async () => {
      await unknowns(2);
      await rig().run('good', 'completed');
      await unknowns(2, 'v');
      const { fence } = (await rig().reserved('ours')).reservation;
      await rig().settle('ours', fence, 'outcome_unknown', 'ours');
      await rig().run('gone', 'cancelled');
      expect((await rig().registry.fleet.status()).circuitsNotClosed).toBe(0);
      await unknowns(1, 'w');
      expect(await why('a1')).toBe('circuit_open');
      expect((await rig().registry.fleet.status()).circuitsNotClosed).toBe(1);
    });

    test('is not opened by workers that are lost, however many', async () => {
      for (const name of ['a', 'b', 'c', 'd']) {
        const { reservation } = await rig().reserved(name, { holdMs: 5_000 });
        await rig().settle(name, reservation.fence, 'outcome_unknown', 'ours');
      }
      for (const name of ['e', 'f', 'g', 'h']) await rig().reserved(name, { holdMs: 5_000 });
      await rig().fixture.elapse(6_000);
      expect((await rig().registry.fleet.sweep(100)).settled).toBe(4);
      expect((await rig().registry.fleet.status()).circuitsNotClosed).toBe(0);
      expect((await rig().reserved('next')).reservation.probe).toBe(false);
    });

    test('a probe whose worker is lost gives its place back and decides nothing', async () => {
      await unknowns(3);
      await rig().fixture.elapse(60_000);
      await rig().reserved('probe', { holdMs: 5_000 });
      expect(await why('a1')).toBe('circuit_open');
      await rig().fixture.elapse(6_000);
      await rig().registry.fleet.sweep(100);
      const second = await rig().reserved('a1');
      expect(second.reservation.probe).toBe(true);
      await rig().settle('a1', second.reservation.fence, 'completed');
      expect((await rig().registry.fleet.status()).circuitsNotClosed).toBe(0);
    });

    test('half open admits its probes only; a good one closes it', async () => {
      await unknowns(3);
      await rig().fixture.elapse(60_000);
      const probe = await rig().reserved('probe');
      expect(probe.reservation.probe).toBe(true);
      expect(await why('a1')).toBe('circuit_open');
      await rig().settle('probe', probe.reservation.fence, 'completed');
      expect((await rig().reserved('a1')).reservation.probe).toBe(false);
    });

    test('a bad probe opens it again; a neutral one gives its place back', async () => {
      await unknowns(3);
      await rig().fixture.elapse(60_000);
      await rig().run('neutral', 'cancelled');
      await rig().run('bad', 'outcome_unknown');
      expect(await why('a1')).toBe('circuit_open');
      await rig().fixture.elapse(60_000);
      expect((await rig().reserved('a1')).reservation.probe).toBe(true);
    });

    test('an answer to what was sent before it opened does not close it', async () => {
      const early = await rig().reserved('early');
      const other = await rig().reserved('other');
      await unknowns(3);
      await rig().settle('early', early.reservation.fence, 'completed');
      expect(await why('a1')).toBe('circuit_open');
      await rig().fixture.elapse(60_000);
      await rig().settle('other', other.reservation.fence, 'completed');
      expect((await rig().reserved('a1')).reservation.probe).toBe(true);
    });

    test('what an earlier incarnation left says nothing of this one, good or bad', async () => {
      const left = [];
      for (const name of ['good', 'bad']) left.push((await rig().reserved(name)).reservation.fence);
      await rig().call('h1', 'register');
      await rig().call('h1', 'heartbeat');
      await unknowns(2);
      await rig().settle('good', left[0] ?? 0, 'completed');
      await rig().settle('bad', left[1] ?? 0, 'outcome_unknown');
      expect((await rig().registry.fleet.status()).circuitsNotClosed).toBe(0);
      await unknowns(1, 'v');
      expect((await rig().registry.fleet.status()).circuitsNotClosed).toBe(1);
    });

    test('a half-open host without a place is full, whatever its circuit admits', async () => {
      await unknowns(3);
      await rig().fixture.elapse(60_000);
      await rig().fixture.change({ settings: { circuitProbes: 100 } });
      for (let nth = 0; nth < 10; nth += 1) await rig().reserved(`p${nth}`);
      expect(await why('a1')).toBe('at_capacity');
    });
  });
}
