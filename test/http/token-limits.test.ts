/**
 * Roles of a token, and what a token narrows: capabilities and the side-effect class. Real: server,
 * socket, tokens, Postgres. Doubled: the starter of workflows.
 */
import type { PlanAnswer } from '../../src/schemas/api-plans';
import type { CapabilityPage } from '../../src/schemas/api-capabilities';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { Harness, problem } from './harness';

const RUN = ['factory.actions.run', 'factory.actions.read'];
const CATALOG = ['factory.catalog.read'];

let h: Harness;
beforeAll(async () => {
  h = await Harness.start();
  const rig = new Rig(postgresFixture(h.db));
  await rig.account();
  for (const capability of ['mail.read', 'mail.send', 'pay.send']) {
    await rig.fixture.change({
      offer: {
        ...{ capability, interfaceName: 'any', connector: 'tracker' },
        instance: { tenant: 'acme', id: 'main' },
      },
    });
  }
  const classes = { 'mail.read': 'read', 'mail.send': 'shared-write', 'pay.send': 'external' };
  for (const [id, sideEffect] of Object.entries(classes)) {
    await h.db.rows(`update waybill.capabilities set side_effect = $2 where capability_id = $1`, [
      ...[id, sideEffect],
    ]);
  }
});
afterAll(() => h.stop());

let actions = 0;
const start = (capabilityId: string, claims: object) =>
  h.call(`/v1/actions/a-${(actions += 1)}`, {
    ...{ method: 'PUT', scopes: RUN, claims: { ...claims } },
    json: { capabilityId, request: {} },
  });

describe('a token that is limited to capabilities', () => {
  test.each([
    [['mail.*'], 'mail.send', 202],
    [['mail.send'], 'mail.send', 202],
    [['pay.send', 'mail.read'], 'mail.send', 403],
    [['mail.sen'], 'mail.send', 403],
    [['*'], 'mail.send', 202],
    [[], 'mail.send', 403],
  ])('to %j starts %s: %d', async (capabilities, capabilityId, status) => {
    const answer = await start(capabilityId, { capabilities });
    expect(answer.status).toBe(status);
    if (status === 403) expect(problem(answer)).toMatchObject({ code: 'capability_not_permitted' });
  });

  test('cancels no action of another one', async () => {
    await h.call('/v1/actions/mine', {
      ...{ method: 'PUT', scopes: RUN, json: { capabilityId: 'mail.send', request: {} } },
    });
    const cancel = (capabilities: string[]) =>
      h.call('/v1/actions/mine/cancel', {
        ...{ scopes: RUN, claims: { capabilities }, json: { reason: 'no longer' } },
      });
    expect(problem(await cancel(['pay.*']))).toMatchObject({ code: 'capability_not_permitted' });
    expect((await cancel(['mail.*'])).status).toBe(200);
    const nobody = await h.call('/v1/actions/nobody/cancel', {
      ...{ scopes: RUN, claims: { capabilities: ['pay.*'] }, json: { reason: 'no longer' } },
    });
    expect(problem(nobody)).toMatchObject({ code: 'not_found' });
  });
});

test('a token that is limited to capabilities moves no action of another one, and replays no webhook', async () => {
  const mine = { method: 'PUT', scopes: RUN, json: { capabilityId: 'mail.send', request: {} } };
  await h.call('/v1/actions/pinned', mine);
  const json = { reason: 'because' };
  const ask = (path: string, capabilities: string[]) =>
    h.call(path, {
      scopes: ['factory.actions.operate', 'factory.connections.operate', 'factory.replays.operate'],
      ...{ claims: { capabilities }, json },
    });
  const repin = '/v1/actions/pinned/repin';
  expect(problem(await ask(repin, ['pay.*']))).toMatchObject({ code: 'capability_not_permitted' });
  expect(problem(await ask(repin, ['mail.*']))).toMatchObject({ code: 'repin_refused' });
  const nobody = '0198c1f0-9a3e-7c41-b1c2-5d7a3f0e8b21';
  for (const path of [`/factory/deliveries/${nobody}/readmit`, '/v1/replays']) {
    expect(problem(await ask(path, ['*']))).toMatchObject({ code: 'capability_not_permitted' });
  }
});

describe('a token with a side-effect ceiling', () => {
  test.each([
    ['read', 'mail.read', 202],
    ['read', 'mail.send', 403],
    ['sandbox', 'mail.send', 403],
    ['shared-write', 'mail.send', 202],
    ['shared-write', 'pay.send', 403],
    ['shared-write', 'no.such', 404],
  ])('of %s starts %s: %d', async (max_side_effect, capabilityId, status) => {
    const answer = await start(capabilityId, { max_side_effect });
    expect(answer.status).toBe(status);
  });

  test('sees the capabilities below it, and no others', async () => {
    const claims = { max_side_effect: 'shared-write', capabilities: ['mail.*', 'pay.*'] };
    const { body } = await h.call<CapabilityPage>('/v1/capabilities', { scopes: CATALOG, claims });
    const ids = body.capabilities.map(({ capabilityId }) => capabilityId);
    expect(ids).toEqual(['mail.read', 'mail.send']);
    const shown = await h.call('/v1/capabilities/pay.send', { scopes: CATALOG, claims });
    expect(problem(shown)).toMatchObject({ status: 403, code: 'capability_not_permitted' });
  });

  test('resolves no capability above it', async () => {
    const ask = (query: string, claims: object) =>
      h.call(`/v1/capability-resolution?${query}`, { scopes: CATALOG, claims: { ...claims } });
    const below = await ask('interface=any', { max_side_effect: 'read' });
    expect(below.body).toMatchObject({ capabilities: [{ capabilityId: 'mail.read' }] });
    const above = await ask('capabilityId=mail.send', { max_side_effect: 'read' });
    expect(problem(above)).toMatchObject({ status: 403, code: 'capability_not_permitted' });
    const other = await ask('interface=any', { capabilities: ['tickets.*'] });
    expect(problem(other)).toMatchObject({ status: 403, code: 'capability_not_permitted' });
  });

  test('verifies no plan with a step above it', async () => {
    const step = (capabilityId: string) => ({ stepId: capabilityId, capabilityId, request: {} });
    const { body } = await h.call<PlanAnswer>('/v1/plans/verify', {
      ...{ scopes: CATALOG, claims: { max_side_effect: 'read' } },
      json: { steps: [step('mail.read'), step('mail.send')] },
    });
    expect(body.verified).toBe(false);
    expect(body.steps.map(({ errors }) => errors.map(({ field }) => field))).toEqual([
      ...[[], ['capabilityId']],
    ]);
  });
});

describe('roles', () => {
  const asks = async (role: string, path: string, json?: object) => {
    const answer = await h.call(path, { scopes: [], claims: { roles: [role, 'Stranger'] }, json });
    return answer.status;
  };
  const replay = { reason: 'repaired' };

  test.each([
    ['Observer', 200, 403, 403],
    ['Operator', 200, 202, 403],
    ['WorkspaceAdmin', 200, 202, 200],
    ['PlatformAdmin', 200, 202, 200],
    ['observer', 403, 403, 403],
    ['constructor', 403, 403, 403],
  ])('%s reads: %d, replays: %d, cancels: %d', async (role, reads, replays, cancels) => {
    await h.call('/v1/actions/some', {
      ...{ method: 'PUT', scopes: RUN, json: { capabilityId: 'mail.send', request: {} } },
    });
    expect(await asks(role, '/factory/deliveries')).toBe(reads);
    expect(await asks(role, '/v1/replays', replay)).toBe(replays);
    expect(await asks(role, '/v1/actions/some/cancel', { reason: 'no longer' })).toBe(cancels);
  });

  test.each([
    ['Observer', false, false],
    ['Operator', true, false],
    ['WorkspaceAdmin', true, true],
    ['PlatformAdmin', true, true],
  ])('%s approves: %s, sends: %s', async (role, approves, sends) => {
    // What the body lacks is said to those alone who may call.
    const may = async (path: string) => (await asks(role, path, {})) !== 403;
    expect(await may('/v1/actions/some/approve')).toBe(approves);
    expect(await may('/v1/deliver')).toBe(sends);
  });
});
