/**
 * Starting and cancelling actions over HTTP. Real: socket, server, service, Postgres, row security.
 * Doubled: the starter of workflows, which writes down whom it was told to attend to; what a workflow
 * would do is done by the registry.
 */
import { tenantId } from '../../src/domain/ids';
import type { Action, CancelAnswer } from '../../src/schemas/api-actions';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { until } from '../support/until';
import { ACTIONS_READ, ACTIONS_RUN, Harness, problem, type Answer } from './harness';

const TOKEN = { scopes: [ACTIONS_RUN] };
const STRICT = 'tickets.label';

let h: Harness;
let rig: Rig;
beforeAll(async () => {
  h = await Harness.start();
  rig = new Rig(postgresFixture(h.db));
  await rig.account();
  await rig.host({ replica: 'host' });
  await offer(STRICT, 'shared-write', {
    type: 'object',
    properties: { labels: { type: 'array', items: { type: 'string' } } },
    required: ['labels'],
  });
});
afterAll(() => h.stop());

/** Another capability of the account's connector. */
async function offer(capability: string, sideEffect: string, schema: object): Promise<void> {
  await h.db.rows(
    `insert into waybill.capabilities (capability_id, interface_name, side_effect, recovery,
        request_schema, result_schema, contract_digest)
      values ($1, 'work-items', $2, 'lookup', $3, '{}', encode(sha256($4), 'hex'))`,
    [capability, sideEffect, schema, Buffer.from(capability)],
  );
  await h.db.rows(`insert into waybill.version_capabilities values ('tracker', '1.0.0', $1)`, [
    capability,
  ]);
  await h.db.rows(
    `insert into waybill.bindings (tenant_id, capability_id, instance_id, credential_revision)
      values ('acme', $1, 'main', 'r1')`,
    [capability],
  );
}

const start = (
  id: string,
  body: Record<string, unknown> = {},
  more: { readonly query?: string; readonly tenant?: string; readonly base?: string } = {},
): Promise<Answer<Action>> =>
  h.call<Action>(`/v1/actions/${id}${more.query ?? ''}`, {
    method: 'PUT',
    json: { capabilityId: CAPABILITY, request: { title: id }, ...body },
    ...TOKEN,
    ...more,
  });

const cancel = (id: string, json: unknown = { reason: 'ordered twice' }) =>
  h.call<CancelAnswer & Record<string, unknown>>(`/v1/actions/${id}/cancel`, { json, ...TOKEN });

/** What its workflow would do in the end. */
async function complete(actionId: string): Promise<void> {
  const at = { tenantId: tenantId('acme'), actionId };
  const answer = await rig.registry.resolver.reserveRoute(
    rig.request(actionId, { requestDigest: await digestOf(actionId) }),
  );
  if (answer.kind !== 'reserved') throw new Error(answer.kind);
  const move = { ...at, reason: null, waiting: false, result: null };
  await rig.registry.ledger.moveAction({ ...move, from: ['reserved'], to: 'dispatching' });
  const { fence } = answer.reservation;
  const result = { outcome: 'succeeded', resultSha256: null, errorCode: null } as const;
  await rig.settle(actionId, fence, 'completed');
  await rig.registry.resolver.recordResult({ ...at, fence }, result, {});
}

async function digestOf(actionId: string): Promise<string> {
  const shown = await h.call<Action>(`/v1/actions/${actionId}`, { scopes: [ACTIONS_READ] });
  return shown.body.requestDigest;
}

describe('starting an action', () => {
  it('answers 202 with the action, under the name of the one who asked', async () => {
    const answer = await start('first', { affinityKey: 'thread-1', retryBudget: 0 });
    expect(answer.status).toBe(202);
    expect(answer.body).toMatchObject({
      actionId: 'first',
      capabilityId: CAPABILITY,
      state: 'requested',
      requestedBy: 'ada@example.test',
      affinityKey: 'thread-1',
      retryBudget: 0,
      deliveryId: null,
      result: null,
      route: null,
    });
    expect(h.attended).toContainEqual(['start', 'first']);
  });

  it('gives it an hour and five attempts more unless told otherwise', async () => {
    const { body } = await start('defaults');
    expect(body.retryBudget).toBe(5);
    const lifeMs = Date.parse(body.deadlineAt) - Date.parse(body.createdAt);
    expect(Math.round(lifeMs / 1000)).toBe(3600);
    const short = (await start('short', { deadlineMs: 1_000 })).body;
    expect(Date.parse(short.deadlineAt) - Date.parse(short.createdAt)).toBeLessThan(2_000);
  });

  it('is the same action when it is asked for again, however the JSON is written', async () => {
    const first = await start('again', { request: { a: 1, b: [true, null] } });
    const second = await start('again', { request: { b: [true, null], a: 1 }, retryBudget: 9 });
    expect(second.status).toBe(202);
    expect(second.body).toEqual(first.body);
  });

  it.each([
    ['another request', { request: { title: 'other' } }],
    ['another capability', { capabilityId: STRICT, request: { labels: [] } }],
  ])('refuses %s under its id as a conflict', async (_what, other) => {
    await start('taken');
    const answer = await start('taken', other);
    expect(problem(answer as unknown as Answer)).toMatchObject({
      status: 409,
      code: 'action_conflict',
    });
  });

  it('takes any JSON as the request', async () => {
    for (const [n, request] of [null, 'text', 7, false, [], {}].entries()) {
      expect((await start(`any-${n}`, { request })).status).toBe(202);
    }
  });

  it('waits for its end when asked to, and answers 200', async () => {
    const asked = start('awaited', {}, { query: '?waitMs=20000' });
    await until('it is there', () =>
      Promise.resolve(h.attended.some(([, id]) => id === 'awaited') ? true : null),
    );
    await complete('awaited');
    const answer = await asked;
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ state: 'completed', result: { outcome: 'succeeded' } });
    // Once more: the recorded result, at once.
    expect(await start('awaited')).toMatchObject({ status: 200, body: answer.body });
  });

  it('answers 202 when the time to wait is over', async () => {
    expect(await start('slow', {}, { query: '?waitMs=1' })).toMatchObject({
      status: 202,
      body: { state: 'requested' },
    });
  });

  it('answers whoever waits when the server is asked to end', async () => {
    const other = await h.alsoServe({});
    const asked = start('left', {}, { query: '?waitMs=60000', base: other.base });
    await until('it is there', () =>
      Promise.resolve(h.attended.some(([, id]) => id === 'left') ? true : null),
    );
    await other.close();
    expect((await asked).status).toBe(202);
  });

  it.each([
    [{ status: 404, code: 'capability_unavailable' }, 'capabilityId', 'tickets.burn', {}],
    [{ status: 422, code: 'action_request_invalid' }, 'request', STRICT, {}],
    [
      { status: 422, code: 'action_request_invalid' },
      'request/labels/1',
      STRICT,
      { labels: ['a', 7] },
    ],
  ])('refuses with %j at %s', async (refusal, field, capabilityId, request) => {
    const answer = (await start('refused', { capabilityId, request })) as unknown as Answer;
    expect(problem(answer)).toMatchObject({ ...refusal, field });
    const shown = await h.call('/v1/actions/refused', { scopes: [ACTIONS_READ] });
    expect(shown.status).toBe(404);
  });

  it('is not for a tenant without a binding', async () => {
    const answer = (await start('foreign', {}, { tenant: 'rival' })) as unknown as Answer;
    expect(problem(answer).code).toBe('capability_unavailable');
  });
});

describe('a call to start an action', () => {
  const nested = (levels: number): unknown =>
    JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;

  it.each<[string, Record<string, unknown>, string]>([
    ['no capability', { capabilityId: undefined }, 'capabilityId'],
    ['no request', { request: undefined }, 'request'],
    ['a request that is too deep', { request: nested(102) }, 'request'],
    ['an empty affinity key', { affinityKey: '' }, 'affinityKey'],
    ['a deadline under a second', { deadlineMs: 999 }, 'deadlineMs'],
    ['a deadline over a week', { deadlineMs: 604_800_001 }, 'deadlineMs'],
    ['a budget below nothing', { retryBudget: -1 }, 'retryBudget'],
    ['a budget over 100', { retryBudget: 101 }, 'retryBudget'],
    ['a tenant', { tenantId: 'rival' }, 'tenantId'],
    ['a replica', { replicaId: 'host' }, 'replicaId'],
  ])('with %s is refused by name', async (_what, body, field) => {
    const answer = (await start('wrong', body)) as unknown as Answer;
    expect(problem(answer)).toMatchObject({ status: 400, code: 'invalid_request', field });
  });

  it.each(['waitMs=60001', 'waitMs=-1', 'waitMs=1.5', 'waitMs=', 'waitMs=1e3'])(
    'with %s is refused by name',
    async (query) => {
      const answer = (await start('wrong', {}, { query: `?${query}` })) as unknown as Answer;
      expect(problem(answer)).toMatchObject({ code: 'invalid_request', field: 'waitMs' });
    },
  );

  it('may hold a request of a megabyte, and no more', async () => {
    const full = await start('large', { request: 'x'.repeat(1_048_576 - 2) });
    expect(full.status).toBe(202);
    const refused = async (characters: number) => {
      const over = await start('larger', { request: 'x'.repeat(characters) });
      return problem(over);
    };
    expect(await refused(1_048_576)).toMatchObject({
      ...{ status: 422, code: 'action_request_invalid', field: 'request' },
    });
    expect(await refused(1_048_576 + 8_192)).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it('needs the scope of running actions', async () => {
    for (const [method, path] of [
      ['PUT', '/v1/actions/x'],
      ['POST', '/v1/actions/x/cancel'],
    ] as const) {
      const answer = await h.call(path, { method, json: {}, scopes: [ACTIONS_READ] });
      expect(problem(answer)).toMatchObject({ status: 403, code: 'scope_missing' });
      expect(answer.body['detail']).toContain(ACTIONS_RUN);
    }
  });
});

describe('cancelling an action', () => {
  it('that has not begun ends it, once', async () => {
    await start('early');
    const first = await cancel('early');
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({
      decision: 'cancelled',
      action: { state: 'cancelled', cancelRequestedBy: 'ada@example.test' },
    });
    expect((await cancel('early')).body.decision).toBe('already');
  });

  it('that its host works on asks the host, through its workflow', async () => {
    await start('busy', { request: { title: 'busy' } });
    const request = rig.request('busy', { requestDigest: await digestOf('busy') });
    expect((await rig.registry.resolver.reserveRoute(request)).kind).toBe('reserved');
    const move = { tenantId: tenantId('acme'), actionId: 'busy', reason: null, waiting: false };
    const { ledger } = rig.registry;
    await ledger.moveAction({ ...move, from: ['reserved'], to: 'dispatching', result: null });
    const answer = await cancel('busy');
    expect(answer).toMatchObject({ status: 202, body: { decision: 'requested' } });
    expect(h.attended).toContainEqual(['nudge', 'busy']);
  });

  it('that has ended comes too late', async () => {
    await start('over');
    await complete('over');
    const answer = await cancel('over');
    expect(answer).toMatchObject({
      status: 200,
      body: { decision: 'too_late', action: { state: 'completed' } },
    });
  });

  it('that is not there answers 404', async () => {
    expect(problem((await cancel('nowhere')) as unknown as Answer).code).toBe('not_found');
  });

  it.each([
    ['none', {}],
    ['a blank one', { reason: ' ' }],
    ['one with a control character', { reason: 'a\u0000' }],
    ['one that is too long', { reason: 'x'.repeat(501) }],
  ])('without a good reason is refused: %s', async (_what, body) => {
    const answer = (await cancel('early', body)) as unknown as Answer;
    expect(problem(answer)).toMatchObject({ code: 'invalid_request', field: 'reason' });
  });
});
