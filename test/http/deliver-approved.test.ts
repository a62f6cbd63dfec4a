/**
 * What is sent with a policy decision and an approval, and replaying what may have had its effect. Real:
 * socket, server, Postgres, approvals and their signatures, attempts. Doubled: the workflow (see the rig).
 */
import { deliveryId, tenantId } from '../../src/domain/ids';
import type { DeliveryPage } from '../../src/schemas/api-deliveries';
import { ALLOWED, call, DeliverRig } from './deliver-rig';
import { problem } from './harness';

let rig: DeliverRig;
beforeAll(async () => {
  rig = await DeliverRig.start();
});
afterAll(() => rig.stop());

test('an external one is sent with its decision and approval, and both are recorded', async () => {
  const asked = call({ operation: 'charge', policyDecision: ALLOWED });
  const refused = problem(await rig.deliver(asked, { key: 'charge-1' }));
  const digest = refused.requestDigest ?? '';
  expect(refused.detail).toContain(`delivery/charge-1 and request digest ${digest}`);
  const token = await rig.approval('charge-1', digest);
  const sent = await rig.delivered({ ...asked, approval: token }, { key: 'charge-1' });
  expect(sent).toMatchObject({ state: 'Acknowledged', requestDigest: digest });
  expect((await rig.show(sent.deliveryId)).sending).toMatchObject({
    policyDecision: ALLOWED,
    approvals: [{ approver: 'kate' }],
  });
  // It is there: whoever asks again is answered, whatever has become of the approval.
  expect(await rig.delivered(asked, { key: 'charge-1' })).toEqual(sent);
});

test.each<[string, (digest: string) => Promise<string>, RegExp]>([
  ['of another key', (digest) => rig.approval('charge-3', digest), /other subject/],
  ['of another request', () => rig.approval('charge-2', 'd4'.repeat(32)), /other request/],
  [
    'of another tenant',
    (digest) => rig.approval('charge-2', digest, { tenant: 'rival' }),
    /other tenant/,
  ],
  [
    'by somebody unknown',
    (digest) => rig.approval('charge-2', digest, { sub: 'max' }),
    /untrusted/,
  ],
])('an approval %s does not count', async (_, token, said) => {
  const asked = call({ operation: 'charge', policyDecision: ALLOWED });
  const { requestDigest = '' } = problem(await rig.deliver(asked, { key: 'charge-2' }));
  const answer = await rig.deliver(
    { ...asked, approval: await token(requestDigest) },
    { key: 'charge-2' },
  );
  expect(problem(answer)).toMatchObject({
    code: 'approval_refused',
    requestDigest,
    detail: expect.stringMatching(said) as string,
  });
});

test('whoever asks does not approve, and a policy that denies counts whatever the class', async () => {
  const asked = call({ operation: 'charge', policyDecision: ALLOWED });
  const { requestDigest = '' } = problem(await rig.deliver(asked, { key: 'charge-4' }));
  const approval = await rig.approval('charge-4', requestDigest);
  const subject = 'kate';
  expect(
    problem(await rig.deliver({ ...asked, approval }, { key: 'charge-4', subject })),
  ).toMatchObject({
    ...{ status: 403, code: 'approver_is_requester', field: 'approval' },
  });
  const denied = call({ policyDecision: { ...ALLOWED, outcome: 'deny' } });
  expect(problem(await rig.deliver(denied))).toMatchObject({ code: 'policy_decision_required' });
});

describe('what may have had its effect', () => {
  const replay = (id: string, json: object) =>
    rig.h.call(`/factory/deliveries/${id}/replay`, {
      json: { reason: 'the vendor has nothing', ...json },
    });

  test('is replayed only where that is confirmed', async () => {
    rig.vendor.answers.push('reset');
    const { deliveryId: id } = await rig.delivered(call());
    expect(await rig.show(id)).toMatchObject({
      state: 'Failed',
      reason: 'uncertain',
      uncertain: true,
    });
    const page = (await rig.h.call<DeliveryPage>('/factory/deliveries?reason=uncertain')).body;
    expect(page.deliveries.map((row) => row.deliveryId)).toContain(id);
    const refused = await replay(id, {});
    expect(problem(refused)).toMatchObject({
      code: 'delivery_uncertain',
      field: 'confirmUncertain',
    });
    expect(await replay(id, { confirmUncertain: true })).toMatchObject({ status: 202 });
    await rig.attempted({ tenantId: tenantId('acme'), deliveryId: deliveryId(id) });
    expect(await rig.show(id)).toMatchObject({
      state: 'Acknowledged',
      uncertain: false,
      series: 2,
    });
  });

  test('and is external, needs an approval that was not used before', async () => {
    rig.vendor.answers.push('reset');
    const asked = call({ operation: 'charge', policyDecision: ALLOWED });
    const key = 'charge-9';
    const { requestDigest: digest = '' } = problem(await rig.deliver(asked, { key }));
    const first = await rig.approval(key, digest);
    const { deliveryId: id } = await rig.delivered({ ...asked, approval: first }, { key });
    const confirmUncertain = true;
    for (const token of [undefined, first]) {
      const answer = await replay(id, { confirmUncertain, approval: token });
      const code = token === undefined ? 'approval_required' : 'approval_refused';
      expect(problem(answer)).toMatchObject({ code, field: 'approval' });
    }
    const second = await rig.approval(key, digest);
    // Whoever has called approves no repeat that somebody else asks for, either.
    const callerIs = (subject: string) =>
      rig.h.db.rows(
        `update waybill.deliveries set sending = jsonb_set(sending, '{requestedBy}', to_jsonb($2::text))
          where delivery_id = $1 returning 1`,
        [id, subject],
      );
    await callerIs('kate');
    const own = await replay(id, { confirmUncertain, approval: second });
    expect(problem(own)).toMatchObject({ status: 403, code: 'approver_is_requester' });
    await callerIs('ada');
    expect(await replay(id, { confirmUncertain, approval: second })).toMatchObject({ status: 202 });
    expect((await rig.show(id)).sending?.approvals).toHaveLength(2);
  });
});

test('what plainly failed is replayed as ever', async () => {
  rig.vendor.answers.push({ status: 404 });
  const { deliveryId: id } = await rig.delivered(call());
  const json = { reason: 'the path is right now' };
  expect(await rig.h.call(`/factory/deliveries/${id}/replay`, { json })).toMatchObject({
    status: 202,
  });
});

test.each<[object, boolean]>([
  [{ capabilities: ['send'] }, true],
  [{ capabilities: ['charge'] }, false],
  [{ max_side_effect: 'shared-write' }, true],
  [{ max_side_effect: 'read' }, false],
])('a token that says %j has it sent again: %s', async (claims, may) => {
  rig.vendor.answers.push({ status: 400 });
  const { deliveryId: id } = await rig.delivered(call());
  const json = { reason: 'mended' };
  const answer = await rig.h.call(`/factory/deliveries/${id}/replay`, {
    ...{ json, claims: { ...claims } },
  });
  if (may) expect(answer).toMatchObject({ status: 202 });
  else expect(problem(answer)).toMatchObject({ status: 403, code: 'capability_not_permitted' });
});

describe('an approval is looked at again for each attempt', () => {
  const trust = (approvers: object) =>
    rig.h.db.rows('update waybill.settings set trusted_approvers = $1', [
      JSON.stringify(approvers),
    ]);
  const trusted = async () => {
    const [row] = await rig.h.db.rows('select trusted_approvers as them from waybill.settings');
    return row?.['them'] as { kate: { keys: string[]; tenants: string[] } };
  };
  const held = (yes: boolean) =>
    rig.h.db.rows(
      `update waybill.settings set recovering_since = case when $1 then clock_timestamp() end`,
      [yes],
    );
  const expireNow = (id: string) =>
    rig.h.db.rows(
      `update waybill.deliveries set sending = jsonb_set(sending, '{approvals,0,expiresAt}',
          to_jsonb(clock_timestamp())) where delivery_id = $1`,
      [id],
    );
  const mallory = 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK';

  test.each<[string, string, (id: string, kate: { keys: string[] }) => Promise<unknown>]>([
    ['that has expired', 'approval_expired', expireNow],
    ['of somebody who is trusted no more', 'approver_untrusted', () => trust({})],
    [
      'of somebody who is not trusted for the tenant any more',
      'approver_untrusted',
      (_, kate) => trust({ kate: { ...kate, tenants: ['rival'] } }),
    ],
    [
      'by a key that was taken from them',
      'approver_untrusted',
      (_, kate) => trust({ kate: { ...kate, keys: [mallory] } }),
    ],
  ])(
    'one %s lets nothing be sent, nor replayed, until there is another',
    async (name, reason, change) => {
      const key = name.replaceAll(' ', '-');
      const before = await trusted();
      const asked = call({ operation: 'charge', policyDecision: ALLOWED, waitMs: 0 });
      const { requestDigest: digest = '' } = problem(await rig.deliver(asked, { key }));
      const approval = await rig.approval(key, digest);
      await held(true);
      const { body } = await rig.deliver({ ...asked, approval }, { key });
      const id = deliveryId((body as { deliveryId: string }).deliveryId);
      await change(id, before.kate);
      await held(false);
      const calls = rig.vendor.calls.length;
      await rig.attempted({ tenantId: tenantId('acme'), deliveryId: id });
      expect(rig.vendor.calls).toHaveLength(calls);
      expect(await rig.show(id)).toMatchObject({ state: 'Failed', reason, uncertain: false });
      const replay = (json: object) =>
        rig.h.call(`/factory/deliveries/${id}/replay`, { json: { reason: 'mended', ...json } });
      const refused = { code: 'approval_required', field: 'approval' };
      expect(problem(await replay({}))).toMatchObject(refused);
      await trust(before);
      const another = await rig.approval(key, digest);
      expect(await replay({ approval: another })).toMatchObject({ status: 202 });
      await rig.attempted({ tenantId: tenantId('acme'), deliveryId: id });
      expect(await rig.show(id)).toMatchObject({ state: 'Acknowledged', attempts: 1 });
      expect(rig.vendor.calls).toHaveLength(calls + 1);
    },
  );

  test('what was replayed without another is refused by the row itself', async () => {
    rig.vendor.answers.push({ status: 404 });
    const key = 'charge-row';
    const asked = call({ operation: 'charge', policyDecision: ALLOWED });
    const { requestDigest: digest = '' } = problem(await rig.deliver(asked, { key }));
    const approval = await rig.approval(key, digest);
    const { deliveryId: id } = await rig.delivered({ ...asked, approval }, { key });
    const before = await trusted();
    await trust({});
    const decide = {
      name: 'test_replay',
      text: `select waybill.replay_delivery('acme', $1, 'ada', 'so', null, '{}') as answer`,
    };
    const [row] = await rig.h.db.as('waybill_data').query(decide, [id]);
    expect(row?.['answer']).toEqual({ answer: 'approval_missing' });
    await trust(before);
  });
});
