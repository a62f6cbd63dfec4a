/**
 * What operators see of attempts and quotas, and the moving of actions. Real: socket, server, Postgres,
 * row security; the registry makes the rows. The hosts of the catalog refuse connections.
 */
import type { Problem } from '../../src/schemas/api-problems';
import type { QuotaPage } from '../../src/schemas/api-quotas';
import type { AttemptPage, RepinAnswer } from '../../src/schemas/api-route-operations';
import type { RouteDetail } from '../../src/schemas/api-routes';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { fillRouting } from '../support/routing-rows';
import { ACTIONS_OPERATE, ACTIONS_READ, ACTIONS_RUN, Harness, problem } from './harness';

let h: Harness;
let rig: Rig;
beforeEach(async () => {
  h = await Harness.start();
  rig = new Rig(postgresFixture(h.db));
  await rig.account({ quota: 'some' });
  const limits = { binding: 3, tenant: 9, connector: 3, global: 50 };
  await rig.fixture.change({ quota: { id: 'some', limits } });
  await rig.host({ replica: 'h1', capacity: 10 });
  await fillRouting(h.db, 'rival');
});
afterEach(() => h.stop());

const READ = { scopes: [ACTIONS_READ] };
const get = async <Page>(path: string, tenant = 'acme') => {
  const answer = await h.call<Page>(path, { tenant, ...READ });
  expect(answer.status).toBe(200);
  return answer.body;
};

/** An action that was sent and of which nobody knows the end. */
async function doubted(action: string): Promise<void> {
  const { reservation } = await rig.reserved(action);
  await h.db.rows(`update waybill.actions set state = 'dispatching' where action_id = $1`, [
    action,
  ]);
  await rig.settle(action, reservation.fence, 'outcome_unknown');
}

describe('attempts', () => {
  const attempts = (query: string, tenant?: string) =>
    get<AttemptPage>(`/v1/route-attempts?${query}`, tenant);
  const ids = (page: AttemptPage) => page.attempts.map(({ actionId }) => actionId);

  it('hide no action: one that is called so has its route', async () => {
    await rig.reserved('attempts');
    expect((await get<RouteDetail>('/v1/routes/attempts')).actionId).toBe('attempts');
  });

  it('that are open come the longest first, page by page', async () => {
    for (const action of ['c', 'a', 'b']) await rig.reserved(action);
    await rig.fixture.change({ quota: { id: 'some', limits: { binding: 9, connector: 9 } } });
    await rig.run('d', 'not_started');
    await doubted('e');
    const first = await attempts('state=open&limit=2');
    expect(ids(first)).toEqual(['c', 'a']);
    expect(first.attempts[0]).toMatchObject({
      ...{ actionState: 'reserved', instanceId: 'main', replicaId: 'h1', attemptNo: 1 },
      ...{ settlement: null, cause: null, probe: false },
    });
    expect(ids(await attempts(`state=open&limit=2&cursor=${first.nextCursor ?? ''}`))).toEqual([
      'b',
    ]);
  });

  it('of which nobody knows the end come the longest first, until that is found out', async () => {
    for (const action of ['c', 'a', 'b']) await doubted(action);
    await rig.reserved('open');
    const first = await attempts('state=unknown&limit=2');
    expect(ids(first)).toEqual(['c', 'a']);
    expect(first.attempts[0]).toMatchObject({
      ...{ actionState: 'unknown', settlement: 'outcome_unknown', cause: 'host' },
    });
    expect(ids(await attempts(`state=unknown&limit=2&cursor=${first.nextCursor ?? ''}`))).toEqual([
      'b',
    ]);
    await rig.clearUp('c');
    expect(ids(await attempts('state=unknown'))).toEqual(['a', 'b']);
  });

  it('are the tenant’s own', async () => {
    await rig.reserved('mine');
    expect(ids(await attempts('state=open', 'rival'))).toEqual(['held']);
    expect(ids(await attempts('state=unknown', 'rival'))).toEqual([]);
  });

  it.each(['', 'state=closed', 'state=open&limit=0'])('are refused by "%s"', async (query) => {
    const answer = await h.call(`/v1/route-attempts?${query}`, READ);
    expect(problem(answer)).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it('take no cursor of the other list', async () => {
    for (const action of ['a', 'b']) await rig.reserved(action);
    const { nextCursor } = await attempts('state=open&limit=1');
    const other = await h.call(`/v1/route-attempts?state=unknown&cursor=${nextCursor ?? ''}`, READ);
    expect(problem(other).code).toBe('invalid_cursor');
  });
});

describe('quotas', () => {
  const quotas = (query = '', tenant?: string) => get<QuotaPage>(`/v1/quotas?${query}`, tenant);

  it('say what is full, and who holds it the longest', async () => {
    for (const action of ['c', 'a', 'b']) await rig.reserved(action);
    const { scopes, shared } = await quotas();
    expect(scopes).toMatchObject([
      {
        ...{
          scope: 'binding',
          instanceId: 'main',
          capabilityId: 'tickets.create',
          limit: 3,
          held: 3,
        },
        ...{ full: true, holders: [{ actionId: 'c' }, { actionId: 'a' }, { actionId: 'b' }] },
      },
      { scope: 'tenant', instanceId: null, limit: 9, held: 3, full: false },
    ]);
    expect(shared).toEqual([
      { scope: 'connector', connectorId: 'tracker', full: true },
      { scope: 'global', connectorId: null, full: false },
    ]);
    expect((await quotas('full=true')).scopes.map(({ scope }) => scope)).toEqual(['binding']);
  });

  it('say of shared scopes only whether they are full, whoever fills them', async () => {
    for (const action of ['a', 'b']) await rig.reserved(action);
    await rig.account({ tenant: 'third', instance: 'theirs', quota: 'few' });
    await rig.fixture.change({ quota: { id: 'few', limits: { connector: 2 } } });
    const { scopes, shared } = await quotas('', 'third');
    expect(scopes).toEqual([]);
    expect(shared).toEqual([{ scope: 'connector', connectorId: 'tracker', full: true }]);
  });

  it('show what is held under a limit that is gone, and pages', async () => {
    await rig.reserved('a');
    await h.db.rows('update waybill.quota_policies set tenant_limit = null');
    const first = await quotas('limit=1');
    expect(first.scopes).toMatchObject([{ scope: 'binding', held: 1 }]);
    const second = await quotas(`limit=1&cursor=${first.nextCursor ?? ''}`);
    expect(second.scopes).toMatchObject([{ scope: 'tenant', limit: null, held: 1, full: false }]);
    expect(second.nextCursor).toBeNull();
  });
});

describe('moving an action', () => {
  const repin = (
    action: string,
    more: { scopes?: string[]; body?: object; tenant?: string } = {},
  ) =>
    h.call<RepinAnswer & Problem>(`/v1/actions/${action}/repin`, {
      method: 'POST',
      json: more.body ?? { reason: 'its host is gone' },
      scopes: more.scopes ?? [ACTIONS_OPERATE],
      ...(more.tenant === undefined ? {} : { tenant: more.tenant }),
    });

  beforeEach(async () => {
    const did = 'did:key:z6MkiaMbhXHNA4eJVCCj8dbzKzTgYDKf6crKgHVHid1F1WCT';
    await h.db.rows('update waybill.replicas set peer_did = $1', [did]);
  });

  it('takes it from its host, once, and wakes its workflow', async () => {
    await rig.run('a1', 'not_started');
    const answer = await repin('a1');
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ decision: 'repinned', action: { state: 'requested' } });
    expect(h.attended).toEqual([['nudge', 'a1']]);
    expect((await repin('a1')).body.decision).toBe('already');
    await rig.host({ replica: 'h2', capacity: 100 });
    await rig.call('h1', 'offline');
    await rig.reserved('a1', { attemptNo: 2 });
    const route = await get<RouteDetail>('/v1/routes/a1');
    expect(route).toMatchObject({ replicaId: 'h2', generation: 2, retiredAt: null });
    expect(route.retired).toMatchObject([
      { generation: 1, replicaId: 'h1', reason: 'its host is gone', proof: { answer: 'not_sent' } },
    ]);
    const audit = await h.db.rows(
      `select actor from waybill.audit_log where action = 'action.repin'`,
    );
    expect(audit).toHaveLength(1);
  });

  it('is refused with the reason where something may have begun', async () => {
    await rig.reserved('open');
    await doubted('lost');
    await rig.start('fresh');
    for (const [action, why] of [
      ['open', 'attempt_open'],
      ['lost', 'outcome_unknown'],
      ['fresh', 'no_route'],
    ] as const) {
      const answer = await repin(action);
      expect(problem(answer)).toMatchObject({ status: 409, code: 'repin_refused', reason: why });
    }
    expect(h.attended).toEqual([]);
  });

  it('needs its own scope, a reason, and the tenant of the action', async () => {
    await rig.run('a1', 'not_started');
    const scopes = [ACTIONS_READ, ACTIONS_RUN];
    expect(problem(await repin('a1', { scopes })).code).toBe('scope_missing');
    expect(problem(await repin('a1', { body: {} })).code).toBe('invalid_request');
    expect(problem(await repin('a1', { tenant: 'rival' })).code).toBe('not_found');
    expect(problem(await repin('nobody')).code).toBe('not_found');
  });
});
