/**
 * Sending through a host: the delivery is an action of the connection, and of no other. Real: Temporal,
 * Postgres, hosts, the controlled provider. Doubled: nothing.
 */
import type { SentDelivery } from '../../src/domain/sending';
import { ActionDeliveryRig } from '../support/action-delivery-rig';
import { Approver } from '../support/approvers';
import { ScriptedHosts } from '../support/scripted-hosts';
import { orderOf, refOf, sender, sent } from '../support/sending-rig';

let rig: ActionDeliveryRig;
let send: ReturnType<typeof sender>;
let hosts: ScriptedHosts;
let kate: Approver;

beforeAll(async () => {
  rig = await ActionDeliveryRig.start();
  const action = (capabilityId: string, request: object) => ({
    ...{ kind: 'action', capabilityId, request, timeoutMs: 10_000 },
  });
  const operations = {
    file: action('tickets.create', { title: { from: '/title' } }),
    refund: action('tickets.create_keyed', { title: { from: '/title' } }),
    read: action('tickets.read', { recordId: { config: '/record' } }),
  };
  await rig.db.rows(
    `update waybill.connector_versions set outbound = $1 where connector_id = 'tickets'`,
    [JSON.stringify(operations)],
  );
  await rig.db.rows(`update waybill.instances set config = '{"record": "nobodys"}'`);
  await rig.db.rows(
    `update waybill.capabilities set side_effect = 'external' where capability_id = 'tickets.create_keyed'`,
  );
  kate = await Approver.trustedBy(rig.db, 'kate');
  hosts = ScriptedHosts.over(rig.actions);
  await rig.work();
  send = sender(rig.deliveries);
});
afterEach(() => rig.actions.holdEffects(0));
afterAll(() => rig.stop());

const order = (changes: Parameters<typeof orderOf>[1] = {}) =>
  orderOf('tickets', {
    ...{ instanceId: 'desk', operation: 'file', payload: '{"title":"Broken lamp"}' },
    ...changes,
  });
const actionOf = (delivery: SentDelivery) => rig.actionOf(refOf(delivery));

test('it is acknowledged when its action completes, which has its effect once', async () => {
  const delivery = sent(await send(order()));
  expect(delivery).toMatchObject({
    state: 'Acknowledged',
    sideEffect: 'shared-write',
    status: null,
  });
  expect(await rig.actions.row(actionOf(delivery))).toMatchObject({
    ...{ state: 'completed', deliveryId: delivery.deliveryId },
  });
  expect(rig.actions.effects(actionOf(delivery))).toBe(1);
  expect(JSON.parse(delivery.answerHead ?? '')).toMatchObject({
    reference: actionOf(delivery).actionId,
  });
  expect(await rig.deliveries.events(refOf(delivery))).toEqual(['delivery-dispatched']);
});

test('its action goes through the connection that was named, though another comes first', async () => {
  await rig.db.rows(
    `with other as (insert into waybill.instances (tenant_id, instance_id, connector_id, version, status, grants)
        values ('acme', 'another', 'tickets', '1.0.0', 'enabled', '{tool}') returning 1)
      insert into waybill.credential_revisions (tenant_id, instance_id, credential_revision, status)
        select 'acme', 'another', 'r1', 'active' from other`,
  );
  await rig.db.rows(
    `insert into waybill.bindings (tenant_id, capability_id, instance_id, priority, credential_revision)
      values ('acme', 'tickets.create', 'another', 1, 'r1')`,
  );
  const delivery = sent(await send(order()));
  expect(delivery.state).toBe('Acknowledged');
  const [route] = await rig.db.rows<{ instance_id: string }>(
    'select instance_id from waybill.routes where action_id = $1',
    [actionOf(delivery).actionId],
  );
  expect(route?.instance_id).toBe('desk');
});

test('what its action was refused fails it, plainly', async () => {
  const failed = sent(await send(order({ operation: 'read' })));
  expect(failed).toMatchObject({ state: 'Failed', reason: 'action_failed', uncertain: false });
});

test('a long one is answered before its end, and acknowledged by it', async () => {
  await rig.actions.holdEffects(1);
  const asked = order({ waitMs: 500 });
  expect(await send(asked)).toMatchObject({ kind: 'under_way', delivery: { state: 'Dispatched' } });
  await rig.actions.holdEffects(0);
  const ended = sent(await send({ ...asked, waitMs: 10_000 }));
  expect(ended).toMatchObject({ state: 'Acknowledged', attempts: 1 });
});

test('a payload of which no request can be made is refused at once', async () => {
  for (const payload of ['{}', '{"title":2868860079149422351}']) {
    expect(await send(order({ payload }))).toMatchObject({
      ...{ kind: 'refused', code: 'delivery_request_invalid' },
    });
  }
});

describe('an external one', () => {
  const policyDecision = { id: 'd-1', outcome: 'allow', policy: null } as const;

  async function approved(key: string): Promise<ReturnType<typeof order>> {
    const asked = order({ operation: 'refund', idempotencyKey: key, policyDecision });
    const refused = await send(asked);
    const digest = refused.kind === 'refused' ? (refused.requestDigest ?? '') : '';
    return { ...asked, approval: await kate.signsDelivery(key, digest, `of-${key}`) };
  }
  const recordOf = async (delivery: SentDelivery) => {
    const [row] = await rig.db.rows(
      `select decided_via, decided_by, token, policy_decision,
          deadline_at <= clock_timestamp() + interval '10 minutes' as "withinApproval" from waybill.approvals
        join waybill.actions using (tenant_id, action_id) where action_id = $1`,
      [actionOf(delivery).actionId],
    );
    return row;
  };

  test('is approved once: its action carries that approval, and waits for no second one', async () => {
    const delivery = sent(await send(await approved('refund-1')));
    expect(delivery).toMatchObject({ state: 'Acknowledged', sideEffect: 'external', attempts: 1 });
    const calls = hosts.calls(actionOf(delivery).actionId, 'execute');
    expect(calls.map(({ approval }) => approval)).toEqual(['of-refund-1']);
    expect(await recordOf(delivery)).toEqual({
      ...{ decided_via: 'delivery', decided_by: 'kate', token: null },
      policy_decision: { id: 'd-1', decision: 'allow', policy: 'not said' },
      withinApproval: true,
    });
    expect(await rig.actions.row(actionOf(delivery))).toMatchObject({ state: 'completed' });
  });

  test('whose worker was lost before its action was approved has it approved by the next one', async () => {
    const asked = await approved('refund-2');
    jest.spyOn(rig.deliveries.services.actions, 'sign').mockImplementationOnce(() => {
      throw new Error('the worker is lost');
    });
    expect(sent(await send(asked))).toMatchObject({ state: 'Acknowledged' });
  });

  test('approves no action but its own, and by no approval but its own', async () => {
    const delivery = sent(await send(await approved('refund-3')));
    const other = await rig.actions.ticket({}, 'tickets.create_keyed');
    await rig.actions.says(other, /Waits for an approval/);
    const decision = {
      decision: 'approved',
      by: 'kate',
      via: 'delivery',
      approvalId: 'of-refund-3',
    };
    const decide = async (actionId: string, changes: object) => {
      const [row] = await rig.db.as('waybill_data').query(
        {
          name: 'test_decide',
          text: 'select waybill.decide_approval($1, $2, $3, null) as answer',
        },
        ['acme', actionId, JSON.stringify({ ...decision, ...changes })],
      );
      return row?.['answer'];
    };
    expect(await decide(other.actionId, {})).toMatchObject({ kind: 'not_waiting' });
    await rig.db.rows('update waybill.actions set delivery_id = $2 where action_id = $1', [
      ...[other.actionId, delivery.deliveryId],
    ]);
    for (const changes of [{ approvalId: 'of-refund-1' }, { by: 'max' }]) {
      expect(await decide(other.actionId, changes)).toMatchObject({ kind: 'not_waiting' });
    }
    expect(await decide(other.actionId, {})).toMatchObject({ kind: 'sign' });
    await rig.db.rows(`update waybill.settings set trusted_approvers = '{}'`);
    expect(await decide(other.actionId, {})).toMatchObject({ kind: 'not_waiting' });
  });
});
