/** Where a capability or an interface resolves to, by the conditions and the order of routing. */
import type { ResolutionWish } from '../../../src/domain/capability-resolution';
import { tenantId } from '../../../src/domain/ids';
import type { CatalogChange, Rig } from '../fixture';
import { CAPABILITY } from '../fixture';

export function resolvingConformance(rig: () => Rig): void {
  const resolve = (wish: ResolutionWish = { capabilityId: CAPABILITY }, tenant = 'acme') =>
    rig().registry.catalog.resolve(tenantId(tenant), wish);
  const offer = (capability: string, instance: string, connector: string) =>
    rig().fixture.change({
      offer: {
        ...{ capability, interfaceName: 'work-items', connector },
        instance: { tenant: 'acme', id: instance },
      },
    });
  const off = (instance: string) =>
    rig().fixture.change({ instance: { instance, status: 'disabled' } });

  test('the binding of the best priority is chosen, and named whole', async () => {
    await rig().account({ instance: 'second', connector: 'other', priority: 200 });
    await rig().account();
    const { contractDigest = '' } =
      (await rig().registry.catalog.find(tenantId('acme'), CAPABILITY)) ?? {};
    expect(await resolve()).toEqual({
      ...{ kind: 'resolved', revision: 0, interfaceName: 'work-items', instanceId: 'main' },
      ...{ connectorId: 'tracker', version: '1.0.0', provider: 'tracker' },
      manifestDigest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      capabilities: [
        {
          ...{ capabilityId: CAPABILITY, sideEffect: 'shared-write', recovery: 'lookup' },
          ...{ contractDigest, priority: 100, policyRevision: 1 },
        },
      ],
    });
    await off('main');
    expect(await resolve()).toMatchObject({ instanceId: 'second', connectorId: 'other' });
  });

  const FAULTS: readonly (readonly [string, CatalogChange])[] = [
    ['binding_disabled', { binding: { instance: 'main', enabled: false } }],
    ['instance_disabled', { instance: { instance: 'main', status: 'disabled' } }],
    ['connector_disabled', { connector: { connector: 'tracker', enabled: false } }],
    ['version_not_active', { version: { connector: 'tracker', status: 'revoked' } }],
    ['evidence_expired', { evidence: { connector: 'tracker', endsInMs: 0 } }],
    ['capability_not_offered', { removedOffer: { connector: 'tracker', capability: CAPABILITY } }],
    ['credential_revoked', { credential: { instance: 'main', status: 'revoked' } }],
  ];
  test.each(FAULTS)('without a usable binding the answer is why: %s', async (why, change) => {
    await rig().account();
    await rig().fixture.change(change);
    const refused = { kind: 'binding_unavailable', why, revision: 0 };
    expect(await resolve()).toEqual(refused);
    expect(await resolve({ interfaceName: 'work-items' })).toEqual(refused);
  });

  test('what is not bound, is not there or is of another tenant is told apart by nobody', async () => {
    await rig().account();
    const none = { kind: 'binding_unavailable', why: 'no_binding', revision: 0 };
    expect(await resolve({ capabilityId: 'mail.send' })).toEqual(none);
    expect(await resolve({ interfaceName: 'messaging' })).toEqual(none);
    expect(await resolve({ capabilityId: CAPABILITY }, 'globex')).toEqual(none);
    expect(await resolve({ interfaceName: 'work-items' }, 'globex')).toEqual(none);
  });

  test('an interface goes to one instance, with all of it that this instance serves', async () => {
    await rig().account();
    await rig().account({ instance: 'second', connector: 'other', priority: 200 });
    await offer('items.close', 'main', 'tracker');
    await offer('items.list', 'second', 'other');
    const answer = await resolve({ interfaceName: 'work-items' });
    if (answer.kind !== 'resolved') throw new Error(answer.kind);
    expect(answer.instanceId).toBe('main');
    const ids = answer.capabilities.map(({ capabilityId }) => capabilityId);
    expect(ids).toEqual(['items.close', CAPABILITY]);
    await off('main');
    expect(await resolve({ interfaceName: 'work-items' })).toMatchObject({
      instanceId: 'second',
    });
  });
}
