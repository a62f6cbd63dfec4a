/**
 * Listing routes: filters, pages, tenants. Real: socket, server, Postgres, row security; the registry
 * makes the rows, an administrator sets their times apart.
 */
import type { RoutePage } from '../../src/schemas/api-routes';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { fillRouting } from '../support/routing-rows';
import { ACTIONS_READ, Harness, problem } from './harness';

const TOKEN = { scopes: [ACTIONS_READ] };

describe('the list of routes', () => {
  let h: Harness;
  beforeAll(async () => {
    h = await Harness.start();
    const rig = new Rig(postgresFixture(h.db));
    await rig.account();
    await rig.host({ replica: 'one' });
    for (const action of ['a', 'b', 'c']) await rig.reserved(action);
    await rig.call('one', 'drain');
    await rig.host({ replica: 'two' });
    for (const action of ['d', 'e']) await rig.reserved(action);
    await rig.run('f', 'not_started');
    await rig.run('g', 'outcome_unknown');
    await h.db.rows(`alter table waybill.routes disable trigger routes_immutable`);
    await h.db.rows(
      `update waybill.routes set assigned_at = timestamptz '2026-01-01 12:00:00Z'
        + ascii(action_id) * interval '1 microsecond'`,
    );
    await fillRouting(h.db, 'rival');
  });
  afterAll(() => h.stop());

  const list = async (query: string, tenant = 'acme') => {
    const answer = await h.call<RoutePage>(`/v1/routes?${query}`, { tenant, ...TOKEN });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const ids = (page: RoutePage) => page.routes.map(({ actionId }) => actionId);

  it.each([
    ['', ['g', 'f', 'e', 'd', 'c', 'b', 'a']],
    ['replicaId=two', ['g', 'f', 'e', 'd']],
    ['open=true', ['e', 'd', 'c', 'b', 'a']],
    ['open=true&replicaId=two', ['e', 'd']],
    ['instanceId=main&replicaId=one', ['c', 'b', 'a']],
    ['instanceId=other', []],
    ['instanceId=other&open=true', []],
  ])('of "%s" is the last assigned first', async (query, found) => {
    expect(ids(await list(query))).toEqual(found);
  });

  it.each(['', '&open=true', '&replicaId=two'])('gives every row once%s', async (filter) => {
    const all = ids(await list(filter.slice(1)));
    for (const limit of [1, 2, all.length]) {
      const seen: string[] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const page: RoutePage = await list(`limit=${limit}${filter}${after}`);
        seen.push(...ids(page));
        cursor = page.nextCursor;
      }
      expect(seen).toEqual(all);
    }
  });

  it('says until when a reservation holds', async () => {
    const { routes } = await list('');
    expect(routes[0]).toMatchObject({ actionId: 'g', attemptCount: 1, openUntil: null });
    expect(routes[2]).toMatchObject({
      actionId: 'e',
      openUntil: expect.stringMatching(/Z$/) as string,
    });
  });

  it('shows a tenant its own only', async () => {
    expect(ids(await list('', 'rival'))).toEqual(['held']);
    expect(ids(await list('open=true', 'rival'))).toEqual(['held']);
    expect(ids(await list('replicaId=two', 'rival'))).toEqual([]);
  });

  it.each([
    ['open=false', 'open'],
    ['replicaId=Not%20A%20Name', 'replicaId'],
    ['limit=201', 'limit'],
    ['state=open', 'state'],
  ])('refuses %s and names the field', async (query, field) => {
    const answer = await h.call(`/v1/routes?${query}`, TOKEN);
    expect(problem(answer)).toMatchObject({ status: 400, code: 'invalid_request', field });
  });
});
