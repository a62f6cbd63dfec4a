/**
 * The fleet as its tenant sees it. Real: socket, server, Postgres, row security; replicas live through
 * the lifecycle and the circuit that the registry gives them.
 */
import type { TenantFleet } from '../../src/schemas/api-fleet';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { fillRouting } from '../support/routing-rows';
import { ACTIONS_READ, Harness, problem } from './harness';

const TOKEN = { scopes: ['factory.fleet.read'] };

describe('the status of the fleet', () => {
  let h: Harness;
  let rig: Rig;
  beforeAll(async () => {
    h = await Harness.start();
    rig = new Rig(postgresFixture(h.db));
    await rig.fixture.change({ settings: { circuitUnknowns: 1, circuitOpenMs: 30_000 } });
    await rig.account();
    await rig.provision({ replica: 'd-new' });
    await rig.host({ replica: 'a-broken', capacity: 4 });
    await rig.run('lost', 'outcome_unknown');
    await rig.host({ replica: 'b-ready', capacity: 3 });
    await rig.reserved('held');
    await rig.host({ replica: 'c-gone' });
    await rig.call('c-gone', 'offline');
    await fillRouting(h.db, 'rival');
  });
  afterAll(() => h.stop());

  const status = async (query = '', tenant = 'acme') => {
    const answer = await h.call<TenantFleet>(`/v1/fleet/status${query}`, { tenant, ...TOKEN });
    expect(answer.status).toBe(200);
    return answer.body;
  };

  it('has figures of all the replicas and each with its lease, load and circuit', async () => {
    const lease = expect.stringMatching(/Z$/) as string;
    const each = { instanceId: 'main', version: '1.0.0', circuit: 'closed', incarnation: 1 };
    expect(await status()).toEqual({
      view: 'live',
      totals: {
        replicas: { registered: 0, ready: 2, draining: 0, drained: 0, offline: 2 },
        openAttempts: 1,
        circuitsNotClosed: 1,
        capacity: 7,
        activeAssignments: 1,
      },
      replicas: [
        {
          ...each,
          ...{ replicaId: 'a-broken', status: 'ready', leaseEndsAt: lease, circuit: 'open' },
          ...{ capacity: 4, activeAssignments: 0 },
        },
        {
          ...each,
          ...{ replicaId: 'b-ready', status: 'ready', leaseEndsAt: lease },
          ...{ capacity: 3, activeAssignments: 1 },
        },
        {
          ...each,
          ...{ replicaId: 'c-gone', status: 'offline', leaseEndsAt: null },
          ...{ capacity: 10, activeAssignments: 0 },
        },
        {
          ...each,
          ...{ replicaId: 'd-new', status: 'offline', leaseEndsAt: null, incarnation: 0 },
          ...{ capacity: 10, activeAssignments: 0 },
        },
      ],
      nextCursor: null,
    });
  });

  it('goes on by pages, with the figures of all on each', async () => {
    const { totals } = await status();
    const first = await status('?limit=3');
    const second = await status(`?limit=3&cursor=${first.nextCursor ?? ''}`);
    expect(first.replicas.map(({ replicaId }) => replicaId)).toEqual([
      ...['a-broken', 'b-ready', 'c-gone'],
    ]);
    expect(second.replicas.map(({ replicaId }) => replicaId)).toEqual(['d-new']);
    expect(second).toMatchObject({ totals, nextCursor: null });
  });

  it('names those of one status, by pages, with the figures of all', async () => {
    const { totals } = await status();
    const first = await status('?status=offline&limit=1');
    expect(first.replicas.map(({ replicaId }) => replicaId)).toEqual(['c-gone']);
    expect(first.totals).toEqual(totals);
    const second = await status(`?status=offline&limit=1&cursor=${first.nextCursor ?? ''}`);
    expect(second.replicas.map(({ replicaId }) => replicaId)).toEqual(['d-new']);
    expect(second.nextCursor).toBeNull();
    expect((await status('?status=draining')).replicas).toEqual([]);
    const other = `/v1/fleet/status?status=ready&cursor=${first.nextCursor ?? ''}`;
    expect(problem(await h.call(other, TOKEN))).toMatchObject({ code: 'invalid_cursor' });
    const unheard = await h.call('/v1/fleet/status?status=asleep', TOKEN);
    expect(problem(unheard)).toMatchObject({ code: 'invalid_request', field: 'status' });
  });

  it('shows a circuit whose time is over as half open', async () => {
    await rig.fixture.elapse(31_000);
    const [broken] = (await status()).replicas;
    expect(broken).toMatchObject({ replicaId: 'a-broken', circuit: 'half_open' });
  });

  it('is of the own tenant alone, figures included', async () => {
    const fleet = await status('', 'rival');
    expect(fleet.replicas.map(({ replicaId }) => replicaId)).toEqual(['rival-host']);
    expect(fleet.totals).toMatchObject({
      openAttempts: 1,
      activeAssignments: 1,
      circuitsNotClosed: 0,
    });
    expect(await status('', 'nobody')).toMatchObject({
      totals: { replicas: { ready: 0 }, openAttempts: 0, capacity: 0 },
      replicas: [],
    });
  });

  it('is for the scope of reading the fleet alone, and takes no other filter', async () => {
    const answer = await h.call('/v1/fleet/status', { scopes: [ACTIONS_READ] });
    expect(problem(answer)).toMatchObject({ status: 403, code: 'scope_missing' });
    const filtered = await h.call('/v1/fleet/status?tenant=rival', TOKEN);
    expect(problem(filtered)).toMatchObject({ code: 'invalid_request', field: 'tenant' });
  });
});
