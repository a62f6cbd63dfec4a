/** What newer versions of an instance mean for actions that are under way. */
import type { Rig } from '../fixture';

export function rolloutConformance(rig: () => Rig): void {
  beforeEach(async () => {
    await rig().account();
    await rig().host({ replica: 'h1' });
  });
  const rollOut = () => rig().fixture.change({ rollout: { instance: 'main', version: '2.0.0' } });

  test('a retry stays on the version and host of its route, new actions go to the newer one', async () => {
    const { route, reservation } = await rig().reserved('a1');
    await rig().settle('a1', reservation.fence, 'not_started');
    await rollOut();
    expect(await rig().reserve('a2')).toMatchObject({ why: 'none_registered' });
    const retry = await rig().reserved('a1', { attemptNo: 2 });
    expect(retry.route).toEqual(route);
    await rig().host({ replica: 'n1' });
    const fresh = await rig().reserved('a2');
    expect(fresh.route).toMatchObject({ version: '2.0.0', replicaId: 'n1' });
    await rig().settle('a1', retry.reservation.fence, 'not_started');
    expect((await rig().reserved('a1', { attemptNo: 3 })).route).toEqual(route);
  });

  test('so it does while its host drains, and with its version deprecated', async () => {
    await rig().run('a1', 'not_started');
    const open = await rig().reserved('a2');
    await rollOut();
    const deprecated = { connector: 'tracker', version: '1.0.0', status: 'deprecated' } as const;
    await rig().fixture.change({ version: deprecated });
    await rig().call('h1', 'drain');
    const retry = await rig().reserved('a1', { attemptNo: 2 });
    expect(retry.route).toMatchObject({ version: '1.0.0', replicaId: 'h1' });
    await rig().settle('a1', retry.reservation.fence, 'not_started');
    await rig().settle('a2', open.reservation.fence, 'completed');
    await rig().reserved('a1', { attemptNo: 3 });
  });

  test('a revoked version takes nothing more, whatever the instance has moved to', async () => {
    await rig().run('a1', 'not_started');
    await rollOut();
    await rig().host({ replica: 'n1' });
    const revoked = { connector: 'tracker', version: '1.0.0', status: 'revoked' } as const;
    await rig().fixture.change({ version: revoked });
    const refused = { kind: 'binding_unavailable', why: 'version_not_active' };
    expect(await rig().reserve('a1', { attemptNo: 2 })).toEqual(refused);
    expect((await rig().reserved('a2')).route.version).toBe('2.0.0');
  });
}
