/** What an operator sees of a delivery whose texts are others' own. Doubled: standard output. */
import { deliveryPage } from '../../../src/cli/support/delivery-page';
import { printJson, printLine } from '../../../src/cli/support/output';
import type { DeliveryHistory } from '../../../src/schemas/api-deliveries';

const attempt = (nth: number, answerHead: string | null) => ({
  ...{ attempt: nth, series: 1, owner: 'run', targetId: 'ci', openedAt: '2026-01-31T06:00:00Z' },
  ...{ deadlineAt: '2026-01-31T06:00:10Z', closedAt: '2026-01-31T06:00:01Z', outcome: 'refused' },
  ...{ reason: 'status_refused', detail: 'the target answered 503', status: 503 },
  ...{ durationMs: 12, answerSha256: null, lateEvidence: null, answerHead },
});
const delivery = {
  ...{ deliveryId: 'd1', direction: 'inbound', connectorId: 'github', instanceId: 'main' },
  ...{ subscriptionId: 'issues', externalId: '\u001b[2Jv1', eventType: 'push', state: 'Failed' },
  ...{ reason: 'status_refused', detail: null, attempts: 5, series: 1, duplicateOf: null },
  ...{ readmittedFrom: null, conflict: false, payloadSha256: 'ab'.repeat(32), payloadBytes: 7 },
  ...{ receivedAt: '2026-01-31T06:00:00Z', settledAt: null, nextAttemptAt: null },
  ...{ waitingSince: null, receiptRef: null, contentType: null, keptHeaders: [], evidence: {} },
  ...{ receipts: [], replays: [], workflowId: null, workflowUrl: null, sending: null },
  attemptHistory: [
    ...[attempt(1, 'oldest'), attempt(2, 'second'), attempt(3, 'line\none')],
    ...[attempt(4, ''), attempt(5, '\u001b]0;owned\u0007\u009b31m')],
  ],
} as unknown as DeliveryHistory;

function printed(print: () => void): string {
  const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    print();
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
  }
}

test('each attempt has its status, and the newest answers their first bytes in one line each', () => {
  const text = deliveryPage(delivery, Number.POSITIVE_INFINITY);
  expect(text).toMatch(/^ +5 +1 +\S+ +12 ms +refused +503 +ci +the target answered 503$/m);
  expect(text).toMatch(
    /^WHAT THE TARGET ANSWERED\n {2}attempt 2 {2}"second"\n {2}attempt 3 {2}"line\\none"\n {2}attempt 5 {2}"/m,
  );
  expect(text).not.toContain('oldest');
});

test("others' control characters are shown, not obeyed, also within JSON", () => {
  const page = printed(() => {
    printLine(deliveryPage(delivery, Number.POSITIVE_INFINITY));
  });
  expect(page).toMatch(/^vendor's id +\\u001b\[2Jv1$/m);
  expect(page).toMatch(/attempt 5 {2}"\\u001b\]0;owned\\u0007\\u009b31m"/);
  const json = printed(() => {
    printJson(delivery);
  });
  expect(JSON.parse(json)).toEqual(delivery);
  for (const text of [page, json]) expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

test('what waits for the loop of the express lane, or was made by it, says so', () => {
  const express: DeliveryHistory = {
    ...delivery,
    lane: 'express',
    driver: 'loop',
    attemptHistory: [],
    reason: null,
  };
  const text = (changes: Partial<DeliveryHistory>) =>
    deliveryPage({ ...express, ...changes }, Number.POSITIVE_INFINITY);
  const waiting = text({ state: 'Received', attempts: 0 });
  expect(waiting).toMatch(/^Temporal +none yet: its first attempt is for the loop of the express/m);
  expect(waiting).toMatch(/^waits for +the loop of the express lane; .*deliveries.* have room$/m);
  expect(text({ state: 'Dispatched', attempts: 1 })).toMatch(/^Temporal +none yet: /m);
  expect(text({ state: 'Acknowledged', settledAt: '2026-01-31T06:00:01Z' })).toMatch(
    /^Temporal +no workflow: the express lane needed none$/m,
  );
});

test('what was told of an attempt that had been given up is there for whoever has to decide', () => {
  const told = { outcome: 'not_sent', reason: 'not_begun', detail: 'nothing was sent' };
  const late = { ...attempt(1, null), lateEvidence: told };
  const sending = { sideEffect: 'external', requestedBy: 'ada', policyDecision: null };
  const approvals = [{ approver: 'kate', approvalId: 'a-1', key: 'k', expiresAt: '2026-02-01' }];
  const failed = { ...delivery, direction: 'outbound', attemptHistory: [late] } as const;
  const text = (reason: string, uncertain: boolean) =>
    deliveryPage(
      { ...failed, reason, uncertain, sending: { ...sending, approvals } } as never,
      Number.POSITIVE_INFINITY,
    );
  expect(text('uncertain', true)).toMatch(
    /^CAME LATE\n {2}attempt 1 {2}not_sent: nothing was sent$/m,
  );
  expect(text('uncertain', true)).toMatch(/^approved +by kate, a-1, until 2026-02-01$/m);
  expect(text('uncertain', true)).toMatch(/replay d1 --confirm-uncertain --approval <token>/);
  expect(text('approval_expired', false)).toMatch(/approved anew.*replay d1 --approval <token>/);
});
