/**
 * Approving, denying and resolving over the API. Real: socket, server, tokens, Postgres, row security,
 * signatures; the registry makes the rows. Doubled: nobody runs the actions.
 */
import type { ApprovalAnswered, ResolveAnswer } from '../../src/schemas/api-action-decisions';
import type { Action } from '../../src/schemas/api-actions';
import type { ApprovalPage } from '../../src/schemas/api-approvals';
import { askApproval } from '../../src/db/approvals';
import { tenantId } from '../../src/domain/ids';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { Approver } from '../support/approvers';
import {
  ACTIONS_OPERATE,
  ACTIONS_READ,
  ACTIONS_RUN,
  Harness,
  problem,
  type Answer,
} from './harness';

let h: Harness;
let rig: Rig;
beforeAll(async () => {
  h = await Harness.start();
  rig = new Rig(postgresFixture(h.db));
  for (const tenant of ['acme', 'rival']) await rig.account({ tenant, instance: `${tenant}-main` });
  await rig.host({ replica: 'h1', instance: 'acme-main' });
  await h.db.rows(`update waybill.capabilities set side_effect = 'external'`);
});
afterAll(() => h.stop());

const APPROVE = 'factory.actions.approve';
const ref = (actionId: string, tenant = 'acme') => ({ tenantId: tenantId(tenant), actionId });
const ask = (actionId: string, tenant = 'acme') =>
  askApproval(h.db.as('waybill_data'), ref(actionId, tenant), 60_000);
const post = <Body>(actionId: string, verb: string, json: unknown, scope = APPROVE) =>
  h.call<Body>(`/v1/actions/${actionId}/${verb}`, { json, scopes: [scope] });
const start = (actionId: string, more: object = {}) =>
  h.call<Action>(`/v1/actions/${actionId}`, {
    ...{ method: 'PUT', scopes: [ACTIONS_RUN] },
    json: { capabilityId: CAPABILITY, request: { title: actionId }, ...more },
  });
const refusal = (answer: Answer<unknown>) => problem(answer as Answer);
const REASON = { reason: 'checked with finance' };

async function waiting(actionId: string): Promise<void> {
  await rig.start(actionId);
  await ask(actionId);
}

describe('approving', () => {
  it('is decided once, shown with who and why, and told to the workflow', async () => {
    await waiting('one');
    const answer = await post<ApprovalAnswered>('one', 'approve', REASON);
    expect(answer).toMatchObject({ status: 200, body: { decision: 'approved' } });
    expect(answer.body.action).toMatchObject({
      ...{ state: 'requested', waitingSince: null },
      approval: {
        ...{ state: 'approved', decidedBy: 'ada@example.test', decidedVia: 'api', token: null },
        ...{ reason: REASON.reason, approvalId: expect.any(String) as string },
      },
    });
    expect(h.attended).toContainEqual(['nudge', 'one']);
    const again = await post<ApprovalAnswered>('one', 'approve', REASON);
    expect(again.body.decision).toBe('already');
  });

  it('is not for whoever asked, nor without its scope', async () => {
    await start('mine');
    await ask('mine');
    expect(refusal(await post('mine', 'approve', REASON))).toMatchObject({
      ...{ status: 403, code: 'approver_is_requester' },
    });
    expect(refusal(await post('mine', 'approve', REASON, ACTIONS_RUN)).code).toBe('scope_missing');
    expect(refusal(await post('mine', 'approve', {})).field).toBe('reason');
    expect(refusal(await post('nothing', 'approve', REASON)).code).toBe('not_found');
  });

  it.each(['approve', 'deny'])('of what its token may not use is refused: %s', async (verb) => {
    const id = `narrow-${verb}`;
    await waiting(id);
    const decide = (limits: Readonly<Record<string, unknown>>) =>
      h.call(`/v1/actions/${id}/${verb}`, { json: REASON, scopes: [APPROVE], claims: limits });
    for (const limits of [{ capabilities: ['pay.*'] }, { max_side_effect: 'shared-write' }]) {
      expect(refusal(await decide(limits))).toMatchObject({
        ...{ status: 403, code: 'capability_not_permitted' },
      });
    }
    expect((await decide({ capabilities: [CAPABILITY] })).status).toBe(200);
  });

  it('comes too late for what was denied', async () => {
    await waiting('two');
    const denied = await post<ApprovalAnswered>('two', 'deny', { reason: 'wrong amount' });
    expect(denied.body).toMatchObject({
      ...{ decision: 'denied', action: { state: 'failed', detail: 'wrong amount' } },
    });
    expect(h.attended).toContainEqual(['over', 'two']);
    expect(refusal(await post('two', 'approve', REASON))).toMatchObject({
      ...{ status: 409, code: 'approval_not_waiting', state: 'failed', reason: 'denied' },
    });
  });
});

describe('what waits', () => {
  const page = async (query = '', tenant = 'acme') =>
    (await h.call<ApprovalPage>(`/v1/approvals${query}`, { tenant, scopes: [ACTIONS_READ] })).body;

  it('is listed for its tenant, first asked first, page by page', async () => {
    const policyDecision = { id: 'd-1', decision: 'allow', policy: 'refunds@7' };
    await start('list-1', { policyDecision });
    await ask('list-1');
    for (const id of ['list-3', 'list-2']) await waiting(id);
    const all = (await page()).approvals.map(({ actionId }) => actionId);
    expect(all).toEqual(['mine', 'list-1', 'list-3', 'list-2']);
    const first = await page('?limit=2');
    expect(first.approvals[1]).toMatchObject({
      ...{ actionId: 'list-1', requestedBy: 'ada@example.test', policyDecision },
      ...{ workflowId: 'action/acme/list-1' },
    });
    const second = await page(`?limit=2&cursor=${first.nextCursor ?? ''}`);
    expect(second.approvals.map(({ actionId }) => actionId)).toEqual(['list-3', 'list-2']);
    expect(second.nextCursor).toBeNull();
    expect((await page('', 'rival')).approvals).toEqual([]);
  });

  it('shows what is asked for, with the action', async () => {
    const { body } = await h.call<Action>('/v1/actions/list-1', { scopes: [ACTIONS_READ] });
    expect(body).toMatchObject({
      ...{ state: 'awaiting_approval', reason: 'awaiting_approval' },
      approval: { state: 'asked', request: { title: 'list-1' }, approvalId: null },
      policyDecision: { id: 'd-1' },
    });
  });

  it('leaves the list when nobody can decide it any more', async () => {
    await h.db.rows(
      `update waybill.approvals set expires_at = clock_timestamp() where action_id = 'mine'`,
    );
    expect((await page()).approvals.map(({ actionId }) => actionId)).not.toContain('mine');
  });
});

describe('starting what needs an approval', () => {
  it('takes a signed one, and says what is wrong with another', async () => {
    const kate = await Approver.trustedBy(h.db, 'kate');
    const first = await start('signed');
    const approval = await kate.signs(ref('signed'), first.body.requestDigest);
    expect((await start('signed', { approval })).body.approval).toMatchObject({
      ...{ state: 'approved', decidedBy: 'kate', decidedVia: 'token', token: approval },
    });
    expect(refusal(await start('other', { approval }))).toMatchObject({
      ...{ status: 403, code: 'approval_refused', field: 'approval' },
    });
    const ada = await Approver.trustedBy(h.db, 'ada@example.test');
    const own = await ada.signs(ref('own'), first.body.requestDigest);
    const again = start('own', { approval: own, request: { title: 'signed' } });
    expect(refusal(await again).code).toBe('approver_is_requester');
  });

  it('is refused where it is not to wait for one', async () => {
    expect(refusal(await start('at-once', { awaitApproval: false }))).toMatchObject({
      ...{ status: 403, code: 'approval_required', field: 'approval' },
    });
    expect((await start('later')).status).toBe(202);
  });

  it.each([
    ['policyDecision.note', { policyDecision: { id: 'a', decision: 'b', policy: 'c', note: 'd' } }],
    ['policyDecision.id', { policyDecision: { id: 'x'.repeat(201), decision: 'b', policy: 'c' } }],
    ['approval', { approval: 'x'.repeat(4097) }],
  ])('names the field %s that is wrong', async (field, more) => {
    const found = refusal(await start('wrong', more));
    expect(found).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(JSON.stringify(found)).toContain(field.split('.').at(-1));
  });
});

describe('resolving', () => {
  const resolve = (id: string, outcome: string, scope = ACTIONS_OPERATE) =>
    post<ResolveAnswer>(id, 'resolve', { outcome, reason: 'the ticket is there' }, scope);

  async function doubted(actionId: string): Promise<void> {
    await rig.start(actionId);
    for (const state of ['reserved', 'unknown', 'reconciling', 'needs_operator']) {
      await h.db.rows('update waybill.actions set state = $1 where action_id = $2', [
        state,
        actionId,
      ]);
    }
  }

  it.each([
    ['completed', 'completed', 'over'],
    ['failed', 'failed', 'over'],
    ['cancelled', 'cancelled', 'over'],
    ['retry', 'requested', 'nudge'],
  ])('%s: the action is %s, and its workflow hears of it', async (outcome, state, why) => {
    const id = `resolved-${outcome}`;
    await doubted(id);
    const answer = await resolve(id, outcome);
    expect(answer).toMatchObject({
      status: 200,
      body: { decision: 'resolved', action: { state } },
    });
    expect(h.attended).toContainEqual([why, id]);
    expect(refusal(await resolve(id, 'failed'))).toMatchObject({
      ...{ status: 409, code: 'resolution_refused', state },
    });
    const [line] = await h.db.rows('select actor from waybill.audit_log where subject = $1', [
      `action/${id}`,
    ]);
    expect(line).toEqual({ actor: 'ada@example.test' });
  });

  it('is for operators, and of what is there', async () => {
    expect(refusal(await resolve('resolved-retry', 'failed', ACTIONS_RUN)).code).toBe(
      'scope_missing',
    );
    expect(refusal(await resolve('nothing', 'failed')).code).toBe('not_found');
    expect(refusal(await resolve('resolved-retry', 'done')).field).toBe('outcome');
  });
});
