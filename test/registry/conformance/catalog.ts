/** What a tenant sees of the catalog, in pages at one revision each, and starting at a revision. */
import { tenantId } from '../../../src/domain/ids';
import type { CapabilityPageRequest } from '../../../src/domain/registry-ports';
import type { CatalogChange, Rig } from '../fixture';
import { CAPABILITY } from '../fixture';

type Wanted = Partial<CapabilityPageRequest>;

export function catalogConformance(rig: () => Rig): void {
  const pageOf = async (wanted: Wanted = {}) => {
    const any = { search: null, capabilityId: null, interfaceName: null, profile: null };
    const answer = await rig().registry.catalog.page({
      ...{ ...any, tenantId: tenantId('acme'), unbound: false, after: null, limit: 200, ...wanted },
    });
    if (answer.kind !== 'page') throw new Error(answer.kind);
    return answer;
  };
  const seen = async (wanted: Wanted = {}) =>
    (await pageOf(wanted)).capabilities.map(({ capabilityId }) => capabilityId);
  const offer = (capability: string, more: Partial<CatalogChange['offer']> = {}) =>
    rig().fixture.change({
      offer: {
        ...{ capability, interfaceName: 'messaging', connector: 'tracker' },
        ...{ instance: { tenant: 'acme', id: 'main' }, ...more },
      },
    });

  const INVISIBLE: readonly (readonly [string, CatalogChange])[] = [
    ['an enabled binding', { binding: { instance: 'main', enabled: false } }],
    ['an enabled instance', { instance: { instance: 'main', status: 'disabled' } }],
    ['an enabled connector', { connector: { connector: 'tracker', enabled: false } }],
    [
      'a version that is active or deprecated',
      { version: { connector: 'tracker', status: 'revoked' } },
    ],
    [
      'a version that implements it',
      { removedOffer: { connector: 'tracker', capability: CAPABILITY } },
    ],
    ['evidence that is required', { evidence: { connector: 'tracker', endsInMs: 0 } }],
    ['a credential that counts', { credential: { instance: 'main', status: 'revoked' } }],
  ];
  test.each(INVISIBLE)('nothing is seen without %s', async (_what, change) => {
    await rig().account();
    const { catalog } = rig().registry;
    const contracts = () => catalog.contracts(tenantId('acme'), [CAPABILITY]);
    expect(await seen()).toEqual([CAPABILITY]);
    expect((await contracts()).contracts).toMatchObject([{ capabilityId: CAPABILITY }]);
    await rig().fixture.change(change);
    expect(await seen()).toEqual([]);
    expect((await contracts()).contracts).toEqual([]);
    expect(await catalog.find(tenantId('acme'), CAPABILITY)).toBeNull();
  });

  test('a deprecated version still shows what it serves', async () => {
    await rig().account();
    await rig().fixture.change({ version: { connector: 'tracker', status: 'deprecated' } });
    expect(await seen()).toEqual([CAPABILITY]);
  });

  test('each tenant sees what its own instance serves, and nobody without one anything', async () => {
    await rig().account();
    await rig().account({ tenant: 'globex', instance: 'theirs' });
    await offer('mail.send');
    expect(await seen()).toEqual(['mail.send', CAPABILITY]);
    expect(await seen({ tenantId: tenantId('globex') })).toEqual([CAPABILITY]);
    expect(await seen({ tenantId: tenantId('initech') })).toEqual([]);
    expect(await seen({ tenantId: null })).toEqual([]);
  });

  test('a profile is asked of the version that serves, also where several do', async () => {
    await rig().account();
    await rig().account({ instance: 'second', connector: 'other', priority: 200 });
    const plain = await pageOf();
    expect(plain.capabilities).toMatchObject([{ bound: true, profiles: [] }]);
    expect(await seen({ profile: 'audit' })).toEqual([]);
    await rig().fixture.change({ profiles: { connector: 'tracker', names: ['audit', 'batch'] } });
    await rig().fixture.change({ profiles: { connector: 'other', names: ['audit', 'async'] } });
    expect((await pageOf()).capabilities).toMatchObject([
      { profiles: ['async', 'audit', 'batch'] },
    ]);
    expect(await seen({ profile: 'batch' })).toEqual([CAPABILITY]);
    await rig().fixture.change({ instance: { instance: 'main', status: 'disabled' } });
    expect(await seen({ profile: 'batch' })).toEqual([]);
    expect(await seen({ profile: 'async' })).toEqual([CAPABILITY]);
  });

  test('what is not bound is seen only where that is asked for, and of active versions', async () => {
    await rig().account();
    await offer('mail.send', { instance: null });
    await rig().fixture.change({ profiles: { connector: 'tracker', names: ['audit'] } });
    expect(await seen()).toEqual([CAPABILITY]);
    expect((await pageOf({ unbound: true })).capabilities).toMatchObject([
      { capabilityId: 'mail.send', bound: false, profiles: ['audit'] },
      { capabilityId: CAPABILITY, bound: true, profiles: ['audit'] },
    ]);
    expect(await seen({ unbound: true, tenantId: null })).toEqual(['mail.send', CAPABILITY]);
    await rig().fixture.change({ evidence: { connector: 'tracker', endsInMs: 0 } });
    expect(await seen({ unbound: true })).toEqual([]);
    await rig().fixture.change({ evidence: { connector: 'tracker', endsInMs: 60_000 } });
    expect(await seen({ unbound: true })).toEqual(['mail.send', CAPABILITY]);
    await rig().fixture.change({ version: { connector: 'tracker', status: 'deprecated' } });
    expect(await seen({ unbound: true })).toEqual([CAPABILITY]);
    expect(await seen({ unbound: true, tenantId: null })).toEqual([]);
  });

  test('filters are a text within id or interface, the id, the interface', async () => {
    await rig().account();
    for (const id of ['mail.send', 'mail.read', 'chat.send']) await offer(id);
    expect(await seen({ search: 'SEND' })).toEqual(['chat.send', 'mail.send']);
    expect(await seen({ search: 'work-' })).toEqual([CAPABILITY]);
    expect(await seen({ search: '%' })).toEqual([]);
    expect(await seen({ search: '_' })).toEqual([]);
    // Within one of them, and of letters that ids have, whatever the database's language makes of others.
    expect(await seen({ search: 'tickets.create work' })).toEqual([]);
    expect(await seen({ search: 'T\u0130CKETS' })).toEqual([]);
    expect(await seen({ search: 't\u0131ckets' })).toEqual([]);
    expect(await seen({ search: 'tic\u212aets' })).toEqual([]);
    expect(await seen({ capabilityId: 'mail.read' })).toEqual(['mail.read']);
    expect(await seen({ capabilityId: 'mail' })).toEqual([]);
    expect(await seen({ interfaceName: 'messaging', search: 'mail' })).toEqual([
      'mail.read',
      'mail.send',
    ]);
    expect(await seen({ interfaceName: 'messaging', capabilityId: CAPABILITY })).toEqual([]);
  });

  test('pages are in the order of code units, hold each id once, and end', async () => {
    await rig().account();
    const ids = ['a-b', 'a.b', 'a_b', 'ab', 'a0', 'b'];
    for (const id of ids) await offer(id);
    const all = [...ids, CAPABILITY].sort();
    for (const limit of [1, 2, all.length]) {
      const found: string[] = [];
      for (let next: string | null = ''; next !== null;) {
        const after: Wanted['after'] = next === '' ? null : { revision: 0, capabilityId: next };
        const page = await pageOf({ after, limit });
        found.push(...page.capabilities.map(({ capabilityId }) => capabilityId));
        next = page.next;
      }
      expect(found).toEqual(all);
    }
  });

  test('a page after a publication is stale, whatever was published', async () => {
    await rig().account();
    await offer('mail.send');
    const first = await pageOf({ limit: 1 });
    expect(first).toMatchObject({ revision: 0, next: 'mail.send' });
    await rig().fixture.change({ published: true });
    const after = { revision: 0, capabilityId: 'mail.send' };
    const any = { search: null, capabilityId: null, interfaceName: null, profile: null };
    const { catalog } = rig().registry;
    const request = { ...any, tenantId: tenantId('acme'), unbound: false, after, limit: 1 };
    expect(await catalog.page(request)).toEqual({ kind: 'stale_cursor', revision: 1 });
    expect(await catalog.revision()).toBe(1);
    expect((await catalog.contracts(tenantId('acme'), [])).revision).toBe(1);
    expect((await pageOf({ limit: 1 })).revision).toBe(1);
  });

  test('an action that names a revision starts at that one only, and is met at any', async () => {
    await rig().account();
    expect((await rig().startAt(0, 'a1')).kind).toBe('started');
    await rig().fixture.change({ published: true });
    expect(await rig().startAt(0, 'a2')).toEqual({ kind: 'stale_plan', revision: 1 });
    expect(await rig().startAt(2, 'a2')).toEqual({ kind: 'stale_plan', revision: 1 });
    expect((await rig().startAt(1, 'a2')).kind).toBe('started');
    expect((await rig().startAt(0, 'a1')).kind).toBe('existing');
    expect((await rig().startAt(0, 'a1', { capability: 'mail.send' })).kind).toBe('conflict');
    expect((await rig().startAt(null, 'a3')).kind).toBe('started');
  });
}
