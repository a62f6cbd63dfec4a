/**
 * Listing actions: filters, pages, cursors, refusals. Real: socket, server, Postgres, row security.
 * Actions are started, reserved, settled and moved by the registry; their times are then set apart
 * by an administrator.
 */
import { tenantId } from '../../src/domain/ids';
import type { ActionPage } from '../../src/schemas/api-actions';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { ACTIONS_READ, Harness, problem, READ } from './harness';

const TOKEN = { scopes: [ACTIONS_READ] };

describe('the list of actions', () => {
  let h: Harness;
  let rig: Rig;
  beforeAll(async () => {
    h = await Harness.start();
    rig = new Rig(postgresFixture(h.db));
    await rig.account();
    await rig.host({ replica: 'host' });
    await fill();
  });
  afterAll(() => h.stop());

  const list = async (query: string, tenant = 'acme') => {
    const answer = await h.call<ActionPage>(`/v1/actions?${query}`, { tenant, ...TOKEN });
    expect(answer.status).toBe(200);
    return answer.body;
  };
  const ids = (page: ActionPage) => page.actions.map(({ actionId }) => actionId);

  /** Ten actions of all kinds, a microsecond apart, and one of another tenant. */
  async function fill(): Promise<void> {
    await rig.start('a-born');
    await rig.start('b-other', 'acme', 'mails.send');
    await rig.reserved('c-reserved');
    await rig.run('d-not-started', 'not_started');
    await rig.run('e-unknown', 'outcome_unknown');
    await rig.run('f-stuck', 'outcome_unknown');
    await move('f-stuck', 'unknown', 'reconciling');
    await move('f-stuck', 'reconciling', 'needs_operator');
    await rig.start('g-waits');
    await rig.start('h-failed');
    await move('h-failed', 'requested', 'failed');
    await rig.start('i-cancelled');
    await move('i-cancelled', 'requested', 'cancelled');
    await rig.start('j-failed');
    await move('j-failed', 'requested', 'failed');
    await rig.start('foreign', 'rival');
    await h.db.rows(
      `update waybill.actions set created_at = timestamptz '2026-01-01 12:00:00Z'
        + (ascii(action_id) - 96) * interval '1 microsecond' where tenant_id = 'acme'`,
    );
    // It found no room: the state is the same, but it waits.
    await h.db.rows(
      `update waybill.actions set waiting_since = created_at, reason = 'at_capacity'
        where action_id = 'g-waits'`,
    );
  }

  type State = Parameters<typeof rig.registry.ledger.moveAction>[0]['to'];
  async function move(actionId: string, from: State, to: State): Promise<void> {
    const closes = to === 'failed' || to === 'cancelled';
    const result = closes
      ? { outcome: to, resultSha256: null, errorCode: to === 'failed' ? 'no_binding' : null }
      : null;
    const at = { tenantId: tenantId('acme'), actionId, from: [from], to };
    const moved = await rig.registry.ledger.moveAction({
      ...at,
      reason: to,
      waiting: false,
      result,
    });
    expect(moved.kind).toBe('moved');
  }

  const ALL = [
    ...['j-failed', 'i-cancelled', 'h-failed', 'g-waits', 'f-stuck', 'e-unknown'],
    ...['d-not-started', 'c-reserved', 'b-other', 'a-born'],
  ];

  it('shows the newest first, with all that a row says', async () => {
    const page = await list('');
    expect(ids(page)).toEqual(ALL);
    expect(page).toMatchObject({ view: 'live', nextCursor: null });
    expect(page.actions.find(({ actionId }) => actionId === 'c-reserved')).toMatchObject({
      capabilityId: CAPABILITY,
      state: 'reserved',
      reason: null,
      waitingSince: null,
      requestedBy: 'ada',
      requestDigest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      createdAt: '2026-01-01T12:00:00.000003Z',
      closedAt: null,
      retryBudget: 5,
      affinityKey: null,
      attemptCount: 1,
      result: null,
      workflowId: 'action/acme/c-reserved',
      workflowUrl: 'http://127.0.0.1:8233/namespaces/default/workflows/action%2Facme%2Fc-reserved',
    });
    expect(page.actions[0]?.result).toEqual({
      outcome: 'failed',
      errorCode: 'no_binding',
      resultSha256: null,
    });
  });

  it.each([
    ['state=failed', ['j-failed', 'h-failed']],
    ['state=failed&state=cancelled', ['j-failed', 'i-cancelled', 'h-failed']],
    ['state=needs_operator', ['f-stuck']],
    ['state=completed', []],
    ['waiting=true', ['g-waits', 'f-stuck']],
    ['waiting=true&state=requested&state=reserved', ['g-waits']],
    ['capabilityId=mails.send', ['b-other']],
    [`capabilityId=${CAPABILITY}&state=reserved`, ['c-reserved']],
    ['capabilityId=mails.send&state=reserved', []],
    ['from=2026-01-01T12:00:00.000009Z', ['j-failed', 'i-cancelled']],
    ['until=2026-01-01T12:00:00.000003Z', ['b-other', 'a-born']],
    ['state=failed&until=2026-01-01T12:00:00.00001Z', ['h-failed']],
    ['from=2999-01-01T00:00:00Z', []],
  ])('keeps to %s', async (query, found) => {
    expect(ids(await list(query))).toEqual(found);
  });

  it.each(['', '&state=requested&state=failed&state=unknown&state=reserved'])(
    'gives every row once, whatever the page size%s',
    async (filter) => {
      const all = ids(await list(filter.slice(1)));
      for (const limit of [1, 3, all.length - 1, all.length]) {
        const seen: string[] = [];
        for (let cursor: string | null = ''; cursor !== null;) {
          const after: string = cursor === '' ? '' : `&cursor=${cursor}`;
          const page: ActionPage = await list(`limit=${limit}${filter}${after}`);
          seen.push(...ids(page));
          cursor = page.nextCursor;
        }
        expect(seen).toEqual(all);
      }
    },
  );

  it('goes on where actions began in the same moment', async () => {
    await h.db.rows(
      `insert into waybill.actions select (jsonb_populate_record(a, jsonb_build_object(
          'tenant_id', 'twins', 'action_id', 'twin-' || n))).*
        from waybill.actions a, generate_series(1, 5) n where a.action_id = 'a-born'`,
    );
    const first = await list('limit=2', 'twins');
    expect(ids(first)).toEqual(['twin-5', 'twin-4']);
    const next = await list(`limit=2&cursor=${first.nextCursor ?? ''}`, 'twins');
    expect(ids(next)).toEqual(['twin-3', 'twin-2']);
  });

  it('takes a filter that is written in another way as the same one', async () => {
    const { nextCursor } = await list('limit=1&state=failed&state=cancelled');
    const again = `state=cancelled&state=failed&state=failed&cursor=${nextCursor ?? ''}`;
    expect(ids(await list(again))).toEqual(['i-cancelled', 'h-failed']);
  });

  it('refuses a cursor of other filters, another tenant, or another list', async () => {
    const { nextCursor } = await list('limit=1&state=failed');
    const cursor = nextCursor ?? '';
    const attempts: [string, string?][] = [
      [`/v1/actions?cursor=${cursor}`],
      [`/v1/actions?state=cancelled&cursor=${cursor}`],
      [`/v1/actions?state=failed&cursor=${cursor}x`],
      [`/v1/actions?state=failed&cursor=${cursor}`, 'rival'],
      [`/v1/routes?cursor=${cursor}`],
    ];
    for (const [path, tenant = 'acme'] of attempts) {
      const answer = await h.call(path, { tenant, ...TOKEN });
      expect({ path, code: problem(answer).code }).toEqual({ path, code: 'invalid_cursor' });
    }
  });

  it('shows a tenant its own only', async () => {
    expect(ids(await list('', 'rival'))).toEqual(['foreign']);
    expect(ids(await list('', 'nobody'))).toEqual([]);
  });

  it.each([
    ['limit=0', 'limit'],
    ['state=Failed', 'state'],
    ['state=failed&state=lost', 'state'],
    ['waiting=false', 'waiting'],
    ['from=yesterday', 'from'],
    ['until=2026-02-30T00:00:00Z', 'until'],
    ['capabilityId=', 'capabilityId'],
    ['capabilityId=a%00b', 'capabilityId'],
    ['tenant=rival', 'tenant'],
  ])('refuses %s and names the field', async (query, field) => {
    const answer = await h.call(`/v1/actions?${query}`, TOKEN);
    expect(problem(answer)).toMatchObject({ status: 400, code: 'invalid_request', field });
  });

  it('is for the scope of reading actions alone', async () => {
    const answer = await h.call('/v1/actions', { scopes: [READ, 'factory.actions.run'] });
    expect(problem(answer)).toMatchObject({ status: 403, code: 'scope_missing' });
    expect(answer.body['detail']).toContain(ACTIONS_READ);
  });
});
