/**
 * Approvals on the row: asked once, one decision, and what each race can end in. Real: Postgres, several
 * connections at once as waybill_data, receipts with real signatures. Verdicts come from the rows.
 */
import { claimUnattendedActions, requestCancel } from '../../src/db/action-steps';
import { askApproval, decideApproval, expireApproval } from '../../src/db/approvals';
import type { ActionRef } from '../../src/domain/action-service';
import type { ApprovalDecision } from '../../src/domain/approvals';
import { tenantId } from '../../src/domain/ids';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { testSigner } from '../support/test-signer';

let db: TestDatabase;
let rig: Rig;
beforeAll(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account();
  await rig.host({ replica: 'h1', capacity: 100 });
  await db.rows(`update waybill.capabilities set side_effect = 'external'`);
});
afterAll(() => db.drop());

const RACES = 12;
const data = () => db.as('waybill_data');
const refOf = (actionId: string): ActionRef => ({ tenantId: tenantId('acme'), actionId });
const ask = (actionId: string) => askApproval(data(), refOf(actionId), 60_000);
const decide = (actionId: string, decision: ApprovalDecision['decision'], by = 'kate') => {
  const ref = refOf(actionId);
  const wish = { ...ref, decision, by, reason: 'so', via: 'api', approvalId: `of-${by}` } as const;
  return decideApproval(data(), { ...wish, token: null }, testSigner(ref, { by }));
};
const expire = (actionId: string) => {
  const ref = refOf(actionId);
  return expireApproval(data(), ref, testSigner(ref, { errorCode: 'approval_expired' }));
};
const cancel = (actionId: string) => {
  const ref = refOf(actionId);
  const who = { cancelledBy: 'ada', reason: 'so' };
  return requestCancel(data(), ref, who, testSigner(ref, { by: 'ada' }));
};
/** Action and approval, and how many receipts and audit lines tell of it. */
async function ends(actionId: string) {
  const [row] = await db.rows(
    `select a.state, p.state as approval, a.approval_id is not null as given, a.error_code as code,
        (select array_agg(r.kind order by r.seq) from waybill.receipts r
          where r.subject = 'action/' || a.action_id) as receipts,
        (select count(*)::integer from waybill.audit_log l where l.subject = 'action/' || a.action_id
          and l.action in ('action.approve', 'action.deny')) as decisions
      from waybill.actions a left join waybill.approvals p using (tenant_id, action_id)
      where a.action_id = $1`,
    [actionId],
  );
  return row;
}
async function asked(actionId: string): Promise<void> {
  await rig.start(actionId);
  expect(await ask(actionId)).toMatchObject({
    kind: 'asked',
    action: { state: 'awaiting_approval' },
  });
}
const expires = (actionId: string) =>
  db.rows(
    `update waybill.approvals set expires_at = clock_timestamp() - interval '1 ms'
      where action_id = $1`,
    [actionId],
  );

const APPROVED = {
  ...{ state: 'requested', approval: 'approved', given: true, code: null },
  ...{ receipts: ['approval_given'], decisions: 1 },
};
const failed = (approval: string, decisions: number) => ({
  ...{ state: 'failed', approval, given: false, code: `approval_${approval}` },
  ...{ receipts: ['action_failed'], decisions },
});

test('nothing is reserved before the approval, and whoever asks at once asks once', async () => {
  await rig.start('once');
  expect(await rig.reserve('once')).toEqual({ kind: 'approval_required' });
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask('once')));
  const [first] = answers;
  expect(new Set(answers.map((one) => one.kind === 'asked' && one.approval.expiresAt)).size).toBe(
    1,
  );
  expect(first).toMatchObject({ kind: 'asked', requestedBy: expect.any(String) as string });
  expect(await rig.reserve('once')).toMatchObject({ kind: 'not_requested' });
  expect(await decide('once', 'approved')).toMatchObject({ kind: 'decided' });
  expect(await rig.reserve('once')).toMatchObject({ kind: 'reserved' });
  expect(await ask('once')).toMatchObject({ kind: 'looked' });
});

test.each([
  ['the time of the settings', 60_000],
  ["the action's own deadline", 86_400_000],
])('it waits for %s, whichever is sooner', async (what, ttlMs) => {
  await db.rows('update waybill.settings set approval_ttl_ms = $1', [ttlMs]);
  await rig.start(what);
  const answer = await ask(what);
  if (answer.kind !== 'asked') throw new Error(answer.kind);
  const mostMs = Math.min(ttlMs, answer.action.deadlineInMs + 1_000);
  expect(answer.approval.expiresInMs).toBeLessThanOrEqual(mostMs);
  expect(answer.approval.expiresInMs).toBeGreaterThan(mostMs - 30_000);
});

test('a decision that its workflow may not have heard is news for the loop', async () => {
  await asked('news');
  await db.rows('update waybill.actions set attend_at = null where closed_at is not null');
  const claim = async () => {
    await db.rows(
      `update waybill.actions set attend_at = clock_timestamp() where action_id = 'news'`,
    );
    const claimed = await claimUnattendedActions(db.as('waybill_operations'), 100, 60_000);
    return claimed.find((row) => row.action_id === 'news')?.news;
  };
  expect(await claim()).toBe(false);
  await decide('news', 'approved');
  expect(await claim()).toBe(true);
});

test('one that nobody has asked about yet may be decided ahead', async () => {
  await rig.start('ahead');
  expect(await decide('ahead', 'approved')).toMatchObject({ kind: 'decided' });
  expect(await ends('ahead')).toEqual(APPROVED);
  await rig.start('never');
  expect(await decide('never', 'denied')).toMatchObject({ kind: 'decided' });
  expect(await ends('never')).toEqual(failed('denied', 1));
});

test('what needs no approval takes none, nor does what is unknown', async () => {
  await db.rows(`update waybill.capabilities set side_effect = 'read'`);
  await rig.start('free');
  expect(await decide('free', 'approved')).toMatchObject({ kind: 'not_waiting', approval: null });
  expect(await decide('nowhere', 'approved')).toEqual({ kind: 'unknown_action' });
  await db.rows(`update waybill.capabilities set side_effect = 'external'`);
});

test('whoever asked for it may deny it and not approve it', async () => {
  await asked('own');
  const [row] = await db.rows(
    `select requested_by as by from waybill.actions where action_id = 'own'`,
  );
  const by = String(row?.['by']);
  expect(await decide('own', 'approved', by)).toMatchObject({ kind: 'approver_is_requester' });
  expect(await decide('own', 'denied', by)).toMatchObject({ kind: 'decided' });
  expect(await decide('own', 'approved')).toMatchObject({ approval: { state: 'denied' } });
});

test('what has expired takes no decision, also before anybody has noticed', async () => {
  await asked('late');
  await expires('late');
  expect(await decide('late', 'approved')).toMatchObject({
    ...{ kind: 'not_waiting', approval: { state: 'expired' } },
  });
  await expire('late');
  expect(await ends('late')).toEqual(failed('expired', 0));
  expect(await decide('late', 'denied')).toMatchObject({ approval: { state: 'expired' } });
});

test('asked again after it had been withdrawn by a doubt, it waits anew', async () => {
  await asked('doubted');
  for (const state of ['requested', 'reserved', 'unknown', 'reconciling', 'requested']) {
    await db.rows('update waybill.actions set state = $1 where action_id = $2', [state, 'doubted']);
  }
  expect(await ends('doubted')).toMatchObject({ approval: 'withdrawn' });
  expect(await ask('doubted')).toMatchObject({ kind: 'asked', approval: { state: 'asked' } });
});

/** Both at once, a few times: one of the allowed ends, and never a mixture. */
async function race(
  name: string,
  sides: (actionId: string) => Promise<unknown>[],
  allowed: readonly unknown[],
): Promise<void> {
  const names = Array.from({ length: RACES }, (_, nth) => `${name}-${nth}`);
  for (const actionId of names) {
    await asked(actionId);
    await Promise.all(sides(actionId));
    expect(allowed).toContainEqual(await ends(actionId));
  }
}

test('two clicks are one decision', async () => {
  await race('clicks', (id) => [1, 2, 3].map((nth) => decide(id, 'approved', `k${nth}`)), [
    APPROVED,
  ]);
});

test('approve against deny: the first one counts', async () => {
  const sides = (id: string) => [decide(id, 'approved'), decide(id, 'denied')];
  await race('deny', sides, [APPROVED, failed('denied', 1)]);
});

test('approve against expiry: approved in time, or expired', async () => {
  const sides = (id: string) => [
    decide(id, 'approved'),
    expires(id).then(() => expire(id)),
    decide(id, 'approved', 'max'),
  ];
  await race('expiry', sides, [APPROVED, failed('expired', 0)]);
});

test('approve against cancel: cancelled, with or without an approval before', async () => {
  const cancelled = { state: 'cancelled', code: null };
  await race('cancel', (id) => [decide(id, 'approved'), cancel(id)], [
    {
      ...{ ...cancelled, approval: 'approved', given: true, decisions: 1 },
      receipts: ['approval_given', 'action_cancelled'],
    },
    {
      ...{ ...cancelled, approval: 'withdrawn', given: false, decisions: 0 },
      receipts: ['action_cancelled'],
    },
  ]);
});
