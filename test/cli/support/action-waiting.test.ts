/** What an action waits for, as `waybill actions show` says it. */
import { waitsForAction } from '../../../src/cli/support/action-waiting';
import type { Action } from '../../../src/schemas/api-actions';

const ACTION: Action = {
  ...{ actionId: 'a1', capabilityId: 'tickets.create', state: 'requested', requestedBy: 'ada' },
  ...{ reason: null, detail: null, waitingSince: null, deliveryId: null, cancelRequestedBy: null },
  ...{
    requestDigest: '',
    createdAt: '',
    closedAt: null,
    removedAt: null,
    deadlineAt: '',
    retryBudget: 5,
  },
  ...{ affinityKey: null, attemptCount: 1, progress: null, result: null, route: null },
  ...{ attempts: [], receipts: [], approval: null, policyDecision: null },
  ...{ workflowId: 'action/acme/a1', workflowUrl: null },
};

test.each(['unknown', 'reconciling'] as const)(
  'an action in %s may be sent again, but to no other host',
  (state) => {
    const because = {
      reason: 'replica_unavailable.pinned_unavailable',
      detail: 'its host is away',
    };
    expect(waitsForAction({ ...ACTION, ...because, state })).toBe(
      'word of what became of it: its host is away (replica_unavailable.pinned_unavailable). ' +
        'It goes to no other host',
    );
  },
);

test('a new action waits for a worker, and a closed one for nothing', () => {
  expect(waitsForAction(ACTION)).toMatch(/^a worker that takes it on/);
  expect(waitsForAction({ ...ACTION, state: 'failed' })).toBe('nothing: it is over');
});
