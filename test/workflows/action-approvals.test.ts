/**
 * Actions that need an approval: asked once, and decided by the API, a signed token, or from the Temporal
 * UI. Real: Temporal, Postgres, a host over the controlled provider, keys and signatures. Doubled:
 * nothing; what its host was sent is looked at on the way. Verdicts: rows, effects, receipts.
 */
import { createHash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { APPROVE_UPDATE, DENY_UPDATE } from '../../src/domain/action-activities';
import type { ActionOrder, ActionRef } from '../../src/domain/action-service';
import { canonicalJson } from '../../src/schemas/canonical-json';
import { ActionRig } from '../support/action-rig';
import { Approver } from '../support/approvers';
import { ScriptedHosts } from '../support/scripted-hosts';
import { until } from '../support/until';

let rig: ActionRig;
let hosts: ScriptedHosts;
let kate: Approver;

beforeAll(async () => {
  rig = await ActionRig.start();
  hosts = ScriptedHosts.over(rig);
  kate = await Approver.trustedBy(rig.db, 'kate');
  await rig.db.rows(
    `update waybill.capabilities set side_effect = 'external' where capability_id = 'tickets.create'`,
  );
  await rig.db.rows(
    `update waybill.bindings set approval_required = true where capability_id = 'tickets.create_keyed'`,
  );
  await Promise.all([rig.host(0), rig.work()]);
});
afterAll(() => rig.stop());

const approved = { decision: 'approved', by: 'kate', reason: 'checked' } as const;
const denied = { decision: 'denied', by: 'kate', reason: 'wrong amount' } as const;

async function waiting(
  more: Partial<ActionOrder> = {},
  capabilityId = 'tickets.create',
): Promise<ActionRef> {
  const ref = await rig.ticket(more, capabilityId);
  await rig.says(ref, /Waits for an approval/);
  return ref;
}

/** Of one whose workflow has begun. */
const ended = (ref: ActionRef) => rig.handle(ref).result() as Promise<unknown>;
const approvalOf = async (ref: ActionRef) => {
  const [row] = await rig.db.rows('select * from waybill.approvals where action_id = $1', [
    ref.actionId,
  ]);
  return row;
};
async function receiptsOf(ref: ActionRef): Promise<{ kind: string; data: object }[]> {
  const rows = await rig.db.rows<{ kind: string; jws: string }>(
    `select kind, jws from waybill.receipts where subject = 'action/' || $1 order by seq`,
    [ref.actionId],
  );
  return rows.map(({ kind, jws }) => ({ kind, data: decodeJwt(jws)['data'] as object }));
}

test.each(['tickets.create', 'tickets.create_keyed'])(
  '%s waits, holds nothing, is found and read by people, and is done once it is approved',
  async (capabilityId) => {
    const ref = await waiting({}, capabilityId);
    expect(await rig.row(ref)).toMatchObject({ state: 'awaiting_approval', attempt: null });
    expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
    const page = await rig.says(ref, /ada has asked for it/);
    expect(page).toContain((await rig.row(ref)).requestDigest);
    await until('it is listed', async () => {
      const query = 'WaybillState = "awaiting_approval" and WaybillWaitingSince is not null';
      for await (const found of rig.client.workflow.list({ query })) {
        if (found.workflowId.endsWith(ref.actionId)) return found;
      }
      return null;
    });
    const byRequester = await rig.actions.decide(ref, { ...approved, by: 'ada' });
    expect(byRequester).toMatchObject({ kind: 'approver_is_requester' });
    expect(await rig.actions.decide(ref, approved)).toMatchObject({ kind: 'decided' });
    expect(await rig.actions.decide(ref, approved)).toMatchObject({ kind: 'already' });
    expect(await ended(ref)).toEqual({ state: 'completed' });
    expect(rig.effects(ref)).toBe(1);
    const [given, completed] = await receiptsOf(ref);
    const { approval } = given?.data as { approval: string };
    expect(given).toMatchObject({
      kind: 'approval_given',
      data: { by: 'kate', reason: 'checked' },
    });
    expect(completed).toMatchObject({ kind: 'action_completed', data: { approval } });
    expect(hosts.calls(ref.actionId, 'execute').map((call) => call.approval)).toEqual([approval]);
    expect(await rig.actions.decide(ref, denied)).toMatchObject({
      ...{ kind: 'not_waiting', state: 'completed', approval: 'approved' },
    });
  },
);

test('is asked about once, however often its workflow looks or begins anew', async () => {
  const ref = await waiting();
  const before = await approvalOf(ref);
  await rig.handle(ref).terminate('lost');
  await rig.workflows.ensure(await rig.identity(ref));
  await rig.says(ref, /Waits for an approval/);
  expect(await approvalOf(ref)).toEqual(before);
  await rig.actions.cancel(ref, { cancelledBy: 'ada', reason: 'not needed' });
  expect(await ended(ref)).toEqual({ state: 'cancelled' });
  expect(await approvalOf(ref)).toMatchObject({ state: 'withdrawn' });
  expect(await rig.actions.decide(ref, approved)).toEqual({
    ...{ kind: 'not_waiting', state: 'cancelled', approval: 'withdrawn' },
  });
});

test('denied, it fails with that, and nothing was sent', async () => {
  const ref = await waiting();
  expect(await rig.actions.decide(ref, denied)).toEqual({ kind: 'decided', state: 'failed' });
  expect(await ended(ref)).toEqual({ state: 'failed' });
  const row = await rig.row(ref);
  expect(row).toMatchObject({ reason: 'approval_denied', detail: 'wrong amount' });
  expect(row.result).toMatchObject({ outcome: 'failed', errorCode: 'approval_denied' });
  expect(await receiptsOf(ref)).toMatchObject([{ kind: 'action_failed', data: { by: 'kate' } }]);
  expect(await rig.actions.decide(ref, approved)).toMatchObject({ approval: 'denied' });
  expect(hosts.calls(ref.actionId, 'execute')).toEqual([]);
});

test('nobody decides before its deadline: it has expired', async () => {
  const ref = await rig.ticket({ deadlineMs: 1_200 });
  const row = await rig.reaches(ref, 'failed');
  expect(row.result).toMatchObject({ errorCode: 'approval_expired' });
  expect(await ended(ref)).toEqual({ state: 'failed' });
  expect(await rig.actions.decide(ref, approved)).toMatchObject({ approval: 'expired' });
});

test('from the Temporal UI anybody denies, and whoever has a signed approval approves', async () => {
  const [one, other] = await Promise.all([waiting(), waiting()]);
  const { requestDigest } = await rig.row(one);
  const update = (ref: ActionRef, name: string, input: unknown) =>
    rig.handle(ref).executeUpdate(name, { args: [input] });
  await expect(update(one, APPROVE_UPDATE, { by: 'kate' })).rejects.toMatchObject({
    cause: { message: expect.stringContaining('the input is not') as string },
  });
  const about = await kate.signs(other, requestDigest);
  await expect(update(one, APPROVE_UPDATE, { token: about })).rejects.toMatchObject({
    cause: { type: 'approval_refused', message: expect.stringContaining('about') as string },
  });
  expect(await rig.row(one)).toMatchObject({ state: 'awaiting_approval' });
  const token = await kate.signs(one, requestDigest, 'of-kate');
  expect(await update(one, APPROVE_UPDATE, { token })).toMatchObject({ kind: 'decided' });
  expect(await ended(one)).toEqual({ state: 'completed' });
  expect(await approvalOf(one)).toMatchObject({ decided_via: 'token', decided_by: 'kate', token });
  expect(hosts.calls(one.actionId, 'execute').map((call) => call.approval)).toEqual(['of-kate']);
  const denial = { by: 'somebody', reason: 'not this one' };
  expect(await update(other, DENY_UPDATE, denial)).toEqual({ kind: 'decided', state: 'failed' });
  expect(await ended(other)).toEqual({ state: 'failed' });
  expect(await approvalOf(other)).toMatchObject({ decided_via: 'temporal_ui' });
});

test('the chain is looked at again after the approval', async () => {
  const ref = await waiting({}, 'tickets.create_keyed');
  await rig.db.rows(
    `update waybill.bindings set enabled = capability_id <> 'tickets.create_keyed'`,
  );
  await rig.actions.decide(ref, approved);
  const after = await rig.reaches(ref, 'failed');
  expect(after.result?.errorCode).toBe('binding_unavailable.binding_disabled');
  await rig.db.rows('update waybill.bindings set enabled = true');
  expect(rig.effects(ref)).toBe(0);
});

test('a carried approval is checked first, recorded, and nobody is asked', async () => {
  const order = rig.order('tickets.create', { title: 'Broken lamp' });
  const digest = createHash('sha256').update(canonicalJson(order.request)).digest('hex');
  const policyDecision = { id: 'd-1', decision: 'allow', policy: 'refunds@7' };
  const other = await kate.signs(order, 'd4'.repeat(32));
  await expect(rig.actions.start({ ...order, approval: other })).rejects.toMatchObject({
    code: 'approval_refused',
    field: 'approval',
  });
  const approval = await kate.signs(order, digest, 'carried');
  const hers = rig.actions.start({ ...order, approval, requestedBy: 'kate' });
  await expect(hers).rejects.toMatchObject({ code: 'approver_is_requester' });
  await expect(rig.row(order)).rejects.toThrow('no such action');
  await rig.actions.start({ ...order, approval, policyDecision });
  await rig.reaches(order, 'completed');
  expect(await ended(order)).toEqual({ state: 'completed' });
  expect(await approvalOf(order)).toMatchObject({ state: 'approved', decided_by: 'kate' });
  expect(hosts.calls(order.actionId, 'execute').map((call) => call.approval)).toEqual(['carried']);
  const [row] = await rig.db.rows(
    'select policy_decision from waybill.actions where action_id = $1',
    [order.actionId],
  );
  expect(row).toEqual({ policy_decision: policyDecision });
});

test('brought later, by the same order once more, it is what was waited for', async () => {
  const order = rig.order('tickets.create', { title: 'Broken lamp' });
  await rig.actions.start(order);
  await rig.says(order, /Waits for an approval/);
  const { requestDigest } = await rig.row(order);
  const approval = await kate.signs(order, requestDigest);
  expect(await rig.actions.start({ ...order, approval })).toEqual({ kind: 'existing' });
  expect(await ended(order)).toEqual({ state: 'completed' });
});

test('whatever was decided, nothing is left open or counted', async () => {
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});
