/** Which binding and which host a new route goes to, and why none. */
import { tenantId } from '../../../src/domain/ids';
import type { Rig } from '../fixture';
import { ANYWHERE, CAPABILITY } from '../fixture';

export function choosingConformance(rig: () => Rig): void {
  const replicaOf = async (action: string) => (await rig().reserved(action)).route.replicaId;
  const placedIn = async (action: string, topology: Partial<typeof ANYWHERE>) => {
    await rig().start(action);
    const { resolver } = rig().fixture.registry({ ...ANYWHERE, ...topology });
    const answer = await resolver.reserveRoute(rig().request(action));
    return answer.kind === 'reserved' ? answer.route.replicaId : answer;
  };

  test('the preferred region comes first, then the zone, then the least busy', async () => {
    await rig().account();
    await rig().host({ replica: 'us', region: 'us', zone: 'b' });
    await rig().host({ replica: 'eu-a', region: 'eu', zone: 'a' });
    await rig().host({ replica: 'eu-b', region: 'eu', zone: 'b' });
    expect(await placedIn('a1', { region: 'eu', zone: 'b' })).toBe('eu-b');
    expect(await placedIn('a2', { region: 'eu', zone: 'b' })).toBe('eu-b');
    expect(await placedIn('a3', { region: 'us' })).toBe('us');
    expect(await placedIn('a4', {})).toBe('eu-a');
  });

  test('a region that must not be left and a class are filters', async () => {
    await rig().account();
    await rig().host({ replica: 'us', region: 'us', capacityClass: 'large' });
    const wrong = { kind: 'replica_unavailable', why: 'wrong_topology' };
    expect(await placedIn('a1', { region: 'eu', crossRegion: false })).toMatchObject(wrong);
    expect(await placedIn('a1', { capacityClass: 'small' })).toMatchObject(wrong);
    expect(await placedIn('a1', { region: 'eu', capacityClass: 'large' })).toBe('us');
  });

  test('equal hosts share the work evenly', async () => {
    await rig().account();
    for (const replica of ['h1', 'h2', 'h3']) await rig().host({ replica });
    const chosen: string[] = [];
    for (let nth = 0; nth < 6; nth += 1) chosen.push(await replicaOf(`a${nth}`));
    expect(chosen.sort()).toEqual(['h1', 'h1', 'h2', 'h2', 'h3', 'h3']);
  });

  test.each([
    ['binding_disabled', { binding: { instance: 'main', enabled: false } }],
    ['instance_disabled', { instance: { instance: 'main', status: 'disabled' } }],
    ['connector_disabled', { connector: { connector: 'tracker', enabled: false } }],
    ['version_not_active', { version: { connector: 'tracker', status: 'revoked' } }],
    ['evidence_expired', { evidence: { connector: 'tracker', endsInMs: 0 } }],
    ['credential_revoked', { credential: { instance: 'main', status: 'revoked' } }],
  ] as const)('%s fails closed, for new routes and for retries', async (why, change) => {
    await rig().account();
    await rig().host({ replica: 'h1' });
    await rig().run('pinned', 'not_started');
    await rig().fixture.change(change);
    const refused = { kind: 'binding_unavailable', why };
    expect(await rig().reserve('new')).toEqual(refused);
    expect(await rig().reserve('pinned', { attemptNo: 2 })).toEqual(refused);
    const { catalog } = rig().registry;
    expect(await catalog.find(tenantId('acme'), CAPABILITY)).toBeNull();
  });

  test('evidence counts until it expires, for new routes and for retries', async () => {
    await rig().account();
    await rig().host({ replica: 'h1' });
    await rig().fixture.change({ evidence: { connector: 'tracker', endsInMs: 10_000 } });
    await rig().fixture.change({ version: { connector: 'tracker', status: 'deprecated' } });
    await rig().run('pinned', 'not_started');
    await rig().fixture.elapse(10_000);
    await rig().call('h1', 'register');
    await rig().call('h1', 'heartbeat');
    const refused = { kind: 'binding_unavailable', why: 'evidence_expired' };
    expect(await rig().reserve('new')).toEqual(refused);
    expect(await rig().reserve('pinned', { attemptNo: 2 })).toEqual(refused);
    await rig().fixture.change({ evidence: { connector: 'tracker', endsInMs: 10_000 } });
    await rig().reserved('pinned', { attemptNo: 2 });
    await rig().reserved('new');
  });

  test('a deprecated version keeps serving; without a binding there is nothing to see', async () => {
    await rig().account();
    await rig().host({ replica: 'h1' });
    await rig().fixture.change({ version: { connector: 'tracker', status: 'deprecated' } });
    expect(await replicaOf('a1')).toBe('h1');
    const { catalog } = rig().registry;
    const contract = { capabilityId: CAPABILITY, recovery: 'lookup', sideEffect: 'shared-write' };
    expect(await catalog.find(tenantId('acme'), CAPABILITY)).toMatchObject(contract);
    expect(await catalog.find(tenantId('globex'), CAPABILITY)).toBeNull();
    expect(await rig().reserve('a1', { tenantId: tenantId('globex') })).toEqual({
      ...{ kind: 'binding_unavailable', why: 'no_binding' },
    });
  });

  test('what does not fit the best binding goes to the next only where it says so', async () => {
    await rig().account({ instance: 'first', priority: 1 });
    await rig().account({ instance: 'second', priority: 2 });
    await rig().host({ replica: 'f1', instance: 'first', capacity: 1 });
    await rig().host({ replica: 's1', instance: 'second' });
    expect(await replicaOf('a1')).toBe('f1');
    const full = { kind: 'replica_unavailable', why: 'at_capacity' };
    expect(await rig().reserve('a2')).toMatchObject(full);
  });

  test('a binding that spills hands on what its quota or its hosts cannot take', async () => {
    const spill = 'capacity';
    await rig().account({ instance: 'first', priority: 1, spill, quota: 'one' });
    await rig().account({ instance: 'second', priority: 2 });
    await rig().fixture.change({ quota: { id: 'one', limits: { binding: 1 } } });
    await rig().host({ replica: 'f1', instance: 'first' });
    await rig().host({ replica: 's1', instance: 'second', capacity: 1 });
    expect(await replicaOf('a1')).toBe('f1');
    expect(await replicaOf('a2')).toBe('s1');
    const first = { kind: 'capacity_exceeded', scope: 'binding' };
    expect(await rig().reserve('a3')).toMatchObject(first);
    expect((await rig().registry.fleet.status()).activeAssignments).toBe(2);
  });

  test('a conversation stays on its account, or fails', async () => {
    await rig().account({ instance: 'first', priority: 1 });
    await rig().account({ instance: 'second', priority: 2 });
    await rig().host({ replica: 's1', instance: 'second' });
    await rig().host({ replica: 'f1', instance: 'first' });
    const affinityKey = 'thread-1';
    expect((await rig().reserved('a1', { affinityKey })).route.instanceId).toBe('first');
    await rig().fixture.change({ instance: { instance: 'first', status: 'disabled' } });
    expect(await rig().reserve('a2', { affinityKey })).toEqual({
      ...{ kind: 'binding_unavailable', why: 'affinity_unavailable' },
    });
    expect(await replicaOf('a3')).toBe('s1');
  });

  test('an empty fleet says what is missing', async () => {
    await rig().account();
    const why = async () => {
      const answer = await rig().reserve('a1');
      return answer.kind === 'replica_unavailable' ? answer.why : answer.kind;
    };
    expect(await why()).toBe('none_registered');
    await rig().provision({ replica: 'h1', capacity: 1 });
    expect(await why()).toBe('none_ready');
    await rig().call('h1', 'register');
    expect(await why()).toBe('none_ready');
    await rig().call('h1', 'heartbeat');
    await rig().reserved('other');
    expect(await why()).toBe('at_capacity');
  });
}
