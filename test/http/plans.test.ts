/**
 * Verifying plans and starting their actions over HTTP. Real: socket, server, service, Postgres, row
 * security. Doubled: the starter of workflows.
 */
import type { Action } from '../../src/schemas/api-actions';
import type { PlanAnswer } from '../../src/schemas/api-plans';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { ACTIONS_RUN, Harness, problem, type Answer } from './harness';

const SCOPES = ['factory.catalog.read'];

let h: Harness;
let rig: Rig;
beforeAll(async () => {
  h = await Harness.start();
  rig = new Rig(postgresFixture(h.db));
  await rig.account();
  for (const capability of ['payments.send', 'tickets.label']) {
    await rig.fixture.change({
      offer: {
        ...{ capability, interfaceName: 'any', connector: 'tracker' },
        instance: { tenant: 'acme', id: 'main' },
      },
    });
  }
  await h.db.rows(
    `update waybill.capabilities set side_effect = 'external' where capability_id = 'payments.send'`,
  );
  await h.db.rows(
    `update waybill.bindings set approval_required = true where capability_id = 'tickets.label'`,
  );
  await h.db.rows(
    `update waybill.capabilities set request_schema = $1 where capability_id = 'tickets.label'`,
    [{ type: 'object', properties: { label: { type: 'string' } }, required: ['label'] }],
  );
});
afterAll(() => h.stop());

type Written = Record<string, unknown>;
const step = (stepId: string, more: Written = {}): Written => ({
  ...{ stepId, capabilityId: CAPABILITY, request: {}, ...more },
});
const send = (json: unknown, tenant = 'acme') =>
  h.call<PlanAnswer & Written>('/v1/plans/verify', { json, tenant, scopes: SCOPES });
const verify = async (steps: readonly Written[], tenant = 'acme') => {
  const answer = await send({ steps }, tenant);
  expect(answer.status).toBe(200);
  return answer.body;
};

describe('verifying a plan', () => {
  it('answers every step at one revision, in the order of the plan', async () => {
    const { revision } = (await send({ steps: [step('x')] })).body;
    const answer = await verify([
      step('open', { dependsOn: ['pay'] }),
      step('pay', { capabilityId: 'payments.send', request: 7 }),
      step('label', {
        ...{ capabilityId: 'tickets.label', request: { label: 'a' } },
        dependsOn: ['open', 'pay'],
      }),
    ]);
    const fits = { visible: true, errors: [] };
    expect(answer).toEqual({
      ...{ verified: true, revision, snapshotFencing: true },
      steps: [
        {
          ...{ stepId: 'open', capabilityId: CAPABILITY, ...fits },
          ...{ sideEffect: 'shared-write', approvalNeeded: false },
        },
        {
          ...{ stepId: 'pay', capabilityId: 'payments.send', ...fits },
          ...{ sideEffect: 'external', approvalNeeded: true },
        },
        {
          ...{ stepId: 'label', capabilityId: 'tickets.label', ...fits },
          ...{ sideEffect: 'read', approvalNeeded: true },
        },
      ],
    });
  });

  it('is not verified where one request does not fit, and says where', async () => {
    const { verified, steps } = await verify([
      step('good'),
      step('bad', { capabilityId: 'tickets.label', request: { label: 7 } }),
    ]);
    expect(verified).toBe(false);
    expect(steps.map(({ errors }) => errors)).toEqual([
      [],
      [{ field: 'request/label', message: 'request/label must be string' }],
    ]);
  });

  it('is not verified where one request is larger than any host takes', async () => {
    const request = 'x'.repeat(1024 * 1024);
    const { verified, steps } = await verify([step('good'), step('large', { request })]);
    expect(verified).toBe(false);
    const message = `the request has ${request.length + 2} bytes; a host takes ${request.length}`;
    expect(steps.map(({ errors }) => errors)).toEqual([[], [{ field: 'request', message }]]);
  });

  it('is not verified where the tenant does not see one capability', async () => {
    const unseen = { visible: false, errors: [], sideEffect: null, approvalNeeded: null };
    const unknown = await verify([step('good'), step('bad', { capabilityId: 'none' })]);
    expect(unknown.verified).toBe(false);
    expect(unknown.steps).toMatchObject([{ visible: true }, unseen]);
    expect((await verify([step('good')], 'globex')).steps).toMatchObject([unseen]);
  });

  it.each<[string, unknown, string]>([
    ['no steps', [], 'steps'],
    ['101 steps', Array.from({ length: 101 }, (_, nth) => step(`s${nth}`)), 'steps'],
    ['one id twice', [step('a'), step('a')], 'steps.0.stepId'],
    ['an unknown dependency', [step('a', { dependsOn: ['a1'] })], 'steps.0.dependsOn.0'],
    ['a step that waits for itself', [step('a', { dependsOn: ['a'] })], 'steps.0.dependsOn'],
    [
      'a circle',
      [step('a'), step('b', { dependsOn: ['a', 'c'] }), step('c', { dependsOn: ['b'] })],
      'steps.1.dependsOn',
    ],
    ['a step without a request', [{ stepId: 'a', capabilityId: 'x' }], 'steps.0.request'],
    ['a field that is not known', [step('a', { depends: [] })], 'steps.0.depends'],
  ])('refuses %s and names the field', async (_what, steps, field) => {
    expect(problem(await send({ steps }))).toMatchObject({
      ...{ status: 400, code: 'invalid_request', field },
    });
  });

  it('takes a hundred steps with a large request each, and no more than 4 MiB', async () => {
    const steps = (bytes: number) =>
      Array.from({ length: 100 }, (_, nth) => step(`s${nth}`, { request: 'x'.repeat(bytes) }));
    expect((await verify(steps(40_000))).steps).toHaveLength(100);
    expect(problem(await send({ steps: steps(43_000) })).code).toBe('body_too_large');
  });

  it('needs the scope of the catalog', async () => {
    const answer = await h.call('/v1/plans/verify', { json: {}, scopes: [ACTIONS_RUN] });
    expect(problem(answer)).toMatchObject({ status: 403, code: 'scope_missing' });
  });
});

describe('an action of a verified plan', () => {
  const start = (id: string, body: Written): Promise<Answer<Action & Written>> =>
    h.call(`/v1/actions/${id}`, {
      ...{ method: 'PUT', json: { capabilityId: CAPABILITY, request: {}, ...body } },
      scopes: [ACTIONS_RUN],
    });
  const STALE = { status: 409, code: 'stale_plan', field: 'ifCatalogRevision' };

  it('starts at its revision, and is refused once the catalog has moved', async () => {
    const { revision } = await verify([step('a')]);
    const fenced = { ifCatalogRevision: revision };
    expect((await start('first', fenced)).status).toBe(202);
    await rig.fixture.change({ published: true });
    expect(problem(await start('second', fenced))).toMatchObject(STALE);
    expect(problem(await start('second', fenced)).detail).toContain(`revision ${revision + 1}`);
    // Nothing was started: at the revision that is now, the id is free.
    expect((await start('second', { ifCatalogRevision: revision + 1 })).status).toBe(202);
    expect((await start('third', {})).status).toBe(202);
  });

  it('is met by whoever repeats the call, whatever was published since', async () => {
    const { revision } = await verify([step('a')]);
    const fenced = { ifCatalogRevision: revision };
    expect((await start('met', fenced)).status).toBe(202);
    await rig.fixture.change({ published: true });
    expect((await start('met', fenced)).body.actionId).toBe('met');
    const other = problem(await start('met', { ...fenced, request: { other: true } }));
    expect(other.code).toBe('action_conflict');
  });

  it('is refused as stale also where its capability is gone since', async () => {
    const { revision } = await verify([step('a')]);
    await rig.fixture.change({ binding: { instance: 'main', enabled: false }, published: true });
    expect(problem(await start('gone', { ifCatalogRevision: revision }))).toMatchObject(STALE);
    const now = problem(await start('gone', { ifCatalogRevision: revision + 1 }));
    expect(now).toMatchObject({ status: 404, code: 'capability_unavailable' });
    await rig.fixture.change({ binding: { instance: 'main', enabled: true }, published: true });
  });

  it.each([-1, 1.5, '3', null])('refuses the revision %p', async (ifCatalogRevision) => {
    const answer = await start('wrong', { ifCatalogRevision });
    expect(problem(answer)).toMatchObject({ code: 'invalid_request', field: 'ifCatalogRevision' });
  });
});
