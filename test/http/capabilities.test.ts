/**
 * The catalog over HTTP. Real: socket, server, Postgres, row security. What a tenant sees, and why not,
 * is in the conformance suite of the registry; asserted here are scopes, cursors and shapes.
 */
import type { CapabilityDetail, CapabilityPage } from '../../src/schemas/api-capabilities';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { ACTIONS_READ, Harness, problem, type Answer } from './harness';

const READ = 'factory.catalog.read';
const INTERNAL = 'factory.catalog.internal';

describe('the catalog', () => {
  let h: Harness;
  let rig: Rig;
  beforeAll(async () => {
    h = await Harness.start();
    rig = new Rig(postgresFixture(h.db));
    await rig.account();
    await rig.fixture.change({ profiles: { connector: 'tracker', names: ['audit'] } });
    const common = { interfaceName: 'messaging', connector: 'tracker' };
    const instance = { tenant: 'acme', id: 'main' };
    for (const capability of ['mail.read', 'mail.send']) {
      await rig.fixture.change({ offer: { ...common, capability, instance } });
    }
    await rig.fixture.change({ offer: { ...common, capability: 'chat.send', instance: null } });
  });
  afterAll(() => h.stop());

  type More = { readonly tenant?: string; readonly scopes?: readonly string[] };
  const get = <Body = CapabilityPage>(path: string, more: More = {}): Promise<Answer<Body>> =>
    h.call<Body>(`/v1/capabilities${path}`, { scopes: [READ], ...more });
  const list = async (query = '', more: More = {}) => {
    const answer = await get(`?${query}`, more);
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const ids = (page: CapabilityPage) => page.capabilities.map(({ capabilityId }) => capabilityId);

  it('is a page of contracts at one revision', async () => {
    const page = await list();
    expect(ids(page)).toEqual(['mail.read', 'mail.send', CAPABILITY]);
    expect(page).toMatchObject({ revision: 0, nextCursor: null });
    expect(page.capabilities[2]).toEqual({
      capabilityId: CAPABILITY,
      interface: 'work-items',
      sideEffect: 'shared-write',
      recovery: 'lookup',
      requestSchema: {},
      resultSchema: {},
      contractDigest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      profiles: ['audit'],
      bound: true,
    });
  });

  it.each([
    ['search=MAIL', ['mail.read', 'mail.send']],
    ['interface=work-items', [CAPABILITY]],
    ['capabilityId=mail.send', ['mail.send']],
    ['profile=audit&search=read', ['mail.read']],
    ['profile=other', []],
  ])('is filtered by %s', async (query, found) => {
    expect(ids(await list(query))).toEqual(found);
  });

  it('is empty for a tenant without bindings', async () => {
    expect(ids(await list('', { tenant: 'globex' }))).toEqual([]);
  });

  it('is walked page by page, and begun again after a publication', async () => {
    const first = await list('limit=2&search=mail');
    expect(first.nextCursor).toBeNull();
    const { nextCursor } = await list('limit=2');
    const next = `limit=2&cursor=${nextCursor ?? ''}`;
    expect(ids(await list(next))).toEqual([CAPABILITY]);
    const foreign: readonly [string, More][] = [
      [`${next}&search=mail`, {}],
      [next, { tenant: 'globex' }],
      [`limit=2&cursor=A${nextCursor ?? ''}`, {}],
    ];
    for (const [query, more] of foreign) {
      const code = { status: 400, code: 'invalid_cursor', field: 'cursor' };
      expect(
        problem(await h.call(`/v1/capabilities?${query}`, { scopes: [READ], ...more })),
      ).toMatchObject(code);
    }
    await rig.fixture.change({ published: true });
    expect(problem(await h.call(`/v1/capabilities?${next}`, { scopes: [READ] }))).toMatchObject({
      ...{ status: 409, code: 'stale_cursor', field: 'cursor' },
    });
    expect((await list('limit=2')).revision).toBe(1);
  });

  it('shows what is not bound to whom may see it only', async () => {
    const answer = await h.call('/v1/capabilities?unbound=true', { scopes: [READ] });
    expect(problem(answer)).toMatchObject({ status: 403, code: 'scope_missing' });
    expect(problem(answer).detail).toContain(INTERNAL);
    const internal = { scopes: [READ, INTERNAL] };
    expect(ids(await list('', internal))).not.toContain('chat.send');
    expect((await list('unbound=true', internal)).capabilities[0]).toMatchObject({
      ...{ capabilityId: 'chat.send', bound: false },
    });
    const one = await get<CapabilityDetail>('/chat.send?unbound=true', internal);
    expect(one.body).toMatchObject({ capabilityId: 'chat.send', bound: false });
    const path = '/v1/capabilities/chat.send';
    expect(problem(await h.call(`${path}?unbound=true`, { scopes: [READ] })).status).toBe(403);
    const unseen = problem(await h.call(path, internal));
    expect(unseen).toMatchObject({ status: 404, code: 'capability_unavailable' });
  });

  it('answers one capability, whole, with the revision', async () => {
    const { status, body } = await get<CapabilityDetail>(`/${CAPABILITY}`);
    expect(status).toBe(200);
    const { revision, ...capability } = body;
    expect(revision).toBe((await list()).revision);
    expect((await list(`capabilityId=${CAPABILITY}`)).capabilities).toEqual([capability]);
    const foreign = await h.call(`/v1/capabilities/${CAPABILITY}`, {
      tenant: 'globex',
      scopes: [READ],
    });
    expect(problem(foreign)).toMatchObject({ status: 404, code: 'capability_unavailable' });
  });

  it('resolves a capability, or an interface, to adapter and instance', async () => {
    const path = '/v1/capability-resolution';
    const resolved = await h.call(`${path}?capabilityId=${CAPABILITY}`, { scopes: [READ] });
    expect(resolved).toMatchObject({
      status: 200,
      body: { interface: 'work-items', instanceId: 'main', adapter: { connectorId: 'tracker' } },
    });
    const byInterface = await h.call(`${path}?interface=work-items`, { scopes: [READ] });
    expect(byInterface.body).toEqual(resolved.body);
    const none = await h.call(`${path}?interface=none`, { scopes: [READ] });
    expect(problem(none)).toMatchObject({
      ...{ status: 404, code: 'capability_unavailable', reason: 'no_binding' },
    });
    const both = `${path}?interface=work-items&capabilityId=${CAPABILITY}`;
    for (const query of [path, both]) {
      expect(problem(await h.call(query, { scopes: [READ] }))).toMatchObject({
        ...{ status: 400, field: 'capabilityId' },
      });
    }
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['unbound=yes', 'unbound'],
    ['interface=Not%20A%20Name', 'interface'],
    [`search=${'x'.repeat(101)}`, 'search'],
    ['sideEffect=read', 'sideEffect'],
  ])('refuses %s and names the field', async (query, field) => {
    const answer = await h.call(`/v1/capabilities?${query}`, { scopes: [READ] });
    expect(problem(answer)).toMatchObject({ status: 400, code: 'invalid_request', field });
  });

  it('needs its own scope', async () => {
    const answer = await h.call('/v1/capabilities', { scopes: [ACTIONS_READ, INTERNAL] });
    expect(problem(answer)).toMatchObject({ status: 403, code: 'scope_missing' });
  });
});
