/** The page of `waybill actions show`, as far as it depends on what is there. */
import { actionPage } from '../../../src/cli/support/action-page';
import type { Action } from '../../../src/schemas/api-actions';

const ACTION: Action = {
  ...{ actionId: 'a1', capabilityId: 'reports.build', state: 'dispatching', requestedBy: 'ada' },
  ...{ reason: null, detail: null, waitingSince: null, deliveryId: null, cancelRequestedBy: null },
  ...{ requestDigest: '', createdAt: '', closedAt: null, removedAt: null, deadlineAt: '' },
  ...{ retryBudget: 5, affinityKey: null, attemptCount: 1, result: null, route: null },
  ...{ attempts: [], receipts: [], workflowId: 'action/acme/a1', workflowUrl: null },
  ...{ progress: null, approval: null, policyDecision: null },
};
const at = '2026-01-01T00:00:00.000000Z';

test.each([
  [{ note: 'page 40 of 100', percent: 40, at }, `progress +40 %, page 40 of 100, since ${at}`],
  [{ note: 'page 40', percent: null, at }, `progress +page 40, since ${at}`],
])('progress is shown as %j', (progress, line) => {
  expect(actionPage({ ...ACTION, progress }, Infinity)).toMatch(new RegExp(line));
});

test('without a word of its host there is no line of progress', () => {
  expect(actionPage(ACTION, Infinity)).not.toContain('progress');
});
