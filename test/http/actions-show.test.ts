/**
 * One action, and one route, with everything that is known of them. Real: socket, server, Postgres,
 * row security; the registry makes the rows, results are kept as a host's answer is.
 */
import { createHash } from 'node:crypto';
import { noteProgress } from '../../src/db/action-steps';
import { tenantId } from '../../src/domain/ids';
import type { Action } from '../../src/schemas/api-actions';
import type { RouteDetail } from '../../src/schemas/api-routes';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { ACTIONS_READ, ACTIONS_RUN, Harness, problem } from './harness';

const TOKEN = { scopes: [ACTIONS_READ] };

describe('one action', () => {
  let h: Harness;
  let rig: Rig;
  beforeAll(async () => {
    h = await Harness.start();
    rig = new Rig(postgresFixture(h.db));
    await rig.account();
    await rig.host({ replica: 'host' });
  });
  afterAll(() => h.stop());

  const show = async (id: string) => {
    const answer = await h.call<Action>(`/v1/actions/${id}`, TOKEN);
    expect(answer.status).toBe(200);
    return answer.body;
  };

  /** Finishes the reserved action; the artifact holds these bytes. */
  async function finish(action: string, fence: number, content: string): Promise<string> {
    const resultSha256 = createHash('sha256').update(content).digest('hex');
    await h.db.rows(
      `insert into waybill.artifacts (tenant_id, sha256, content) values ('acme', $1, $2)`,
      [Buffer.from(resultSha256, 'hex'), Buffer.from(content)],
    );
    const at = { tenantId: tenantId('acme'), actionId: action };
    const moved = { ...at, reason: null, waiting: false, result: null };
    await rig.registry.ledger.moveAction({ ...moved, from: ['reserved'], to: 'dispatching' });
    const result = { outcome: 'succeeded', resultSha256, errorCode: null } as const;
    await rig.registry.resolver.recordResult({ ...at, fence }, result, { status: 200 });
    await rig.settle(action, fence, 'completed');
    return resultSha256;
  }

  it('that was never reserved has neither route nor attempts', async () => {
    await rig.start('new');
    expect(await show('new')).toMatchObject({
      actionId: 'new',
      state: 'requested',
      result: null,
      route: null,
      attempts: [],
      attemptCount: 0,
      workflowId: 'action/acme/new',
    });
  });

  it('shows its attempts with what was known and what came later', async () => {
    const first = await rig.reserved('twice');
    await rig.settle('twice', first.reservation.fence, 'outcome_unknown');
    await rig.settle('twice', first.reservation.fence, 'completed');
    await rig.clearUp('twice');
    const second = await rig.reserved('twice', { attemptNo: 2 });
    const action = await show('twice');
    expect(action.attempts).toMatchObject([
      {
        attemptNo: 1,
        fence: first.reservation.fence,
        replicaId: 'host',
        incarnation: 1,
        settlement: 'outcome_unknown',
        cause: 'host',
        evidence: { note: 'outcome_unknown of twice' },
        lateEvidence: [{ settlement: 'completed' }],
      },
      { attemptNo: 2, settledAt: null, settlement: null, evidence: null, lateEvidence: [] },
    ]);
    expect(action.route).toMatchObject({
      actionId: 'twice',
      capabilityId: CAPABILITY,
      instanceId: 'main',
      replicaId: 'host',
      topology: { region: 'eu', zone: 'a', capacityClass: 'standard' },
      fence: second.reservation.fence,
      assignedAt: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/) as string,
    });
    expect(action.route).not.toHaveProperty('tenantId');
  });

  it('shows how far its host says that it is', async () => {
    const { reservation } = await rig.reserved('long');
    const at = { tenantId: tenantId('acme'), actionId: 'long' };
    expect((await show('long')).progress).toBeNull();
    const moved = { ...at, reason: null, waiting: false, result: null };
    await rig.registry.ledger.moveAction({ ...moved, from: ['reserved'], to: 'dispatching' });
    const said = { note: 'page 40 of 100', percent: 40 };
    await noteProgress(h.db.as('waybill_data'), { ...at, fence: reservation.fence }, said);
    const sayingWhen: unknown = expect.stringMatching(/^\d{4}-.*Z$/);
    expect((await show('long')).progress).toEqual({ ...said, at: sayingWhen });
  });

  it('shows the result that its host gave', async () => {
    const { reservation } = await rig.reserved('done');
    const sha256 = await finish('done', reservation.fence, '{"ticket":"T-1","tags":["a"]}');
    const action = await show('done');
    expect(action.state).toBe('completed');
    expect(action.closedAt).not.toBeNull();
    expect(action.result).toEqual({
      outcome: 'succeeded',
      errorCode: null,
      resultSha256: sha256,
      result: { ticket: 'T-1', tags: ['a'] },
    });
  });

  it('says the digest alone of a result that is no JSON', async () => {
    const { reservation } = await rig.reserved('odd');
    const resultSha256 = await finish('odd', reservation.fence, '{"cut":');
    expect((await show('odd')).result).toMatchObject({ resultSha256, result: null });
  });

  it('has a route of its own address, with whether it is open', async () => {
    const { reservation } = await rig.reserved('routed');
    const open = await h.call<RouteDetail>('/v1/routes/routed', TOKEN);
    expect(open.status).toBe(200);
    expect(open.body).toMatchObject({
      actionId: 'routed',
      attemptCount: 1,
      attempts: [{ attemptNo: 1, fence: reservation.fence }],
    });
    expect(open.body.openUntil).toBe(open.body.attempts[0]?.deadlineAt);
    await rig.settle('routed', reservation.fence, 'not_started');
    const settled = await h.call<RouteDetail>('/v1/routes/routed', TOKEN);
    expect(settled.body.openUntil).toBeNull();
  });

  it.each(['/v1/actions/nothing', '/v1/routes/nothing', '/v1/routes/unrouted'])(
    'answers 404 to %s',
    async (path) => {
      await rig.start('unrouted');
      expect(problem(await h.call(path, TOKEN))).toMatchObject({ status: 404, code: 'not_found' });
    },
  );

  it('of another tenant is answered like one that does not exist', async () => {
    await rig.reserved('private');
    for (const path of ['/v1/actions/private', '/v1/routes/private']) {
      const answer = await h.call(path, { ...TOKEN, tenant: 'rival' });
      expect(problem(answer).code).toBe('not_found');
    }
  });

  it.each(['-x', 'a%20b', 'a%2Fb', 'a%00', 'x'.repeat(201)])(
    'refuses the id %s by name',
    async (id) => {
      for (const list of ['actions', 'routes']) {
        const answer = await h.call(`/v1/${list}/${id}`, TOKEN);
        expect(problem(answer)).toMatchObject({ code: 'invalid_request', field: 'actionId' });
      }
    },
  );

  it('is for the scope of reading actions alone', async () => {
    const answer = await h.call('/v1/routes/x', { scopes: [ACTIONS_RUN] });
    expect(problem(answer)).toMatchObject({ status: 403, code: 'scope_missing' });
  });
});
