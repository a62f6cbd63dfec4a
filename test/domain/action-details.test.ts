/** What the page of an action says, in the places where a wrong word would mislead an operator. */
import type { OperatorNeeded } from '../../src/domain/action-activities';
import { tenantId } from '../../src/domain/ids';
import { approvalDetails, operatorDetails, waitDetails } from '../../src/domain/action-details';

const WAIT = { kind: 'wait', reason: 'rate_limited', detail: 'its rate is used up', forMs: 900 };
const NEEDED: OperatorNeeded = {
  ...{ kind: 'operator', reason: 'outcome_unknown', detail: 'its host cannot tell' },
  ...{ connectorId: null, cancelRequestedBy: null },
};

test('an action that is done again to find out is never called unsent', () => {
  const said = waitDetails({ ...WAIT, kind: 'wait', state: 'reconciling' });
  expect(said).toContain('done again, which finds out what became of it');
  expect(said).toContain('It was sent before and may have had its effect.');
  expect(said).toContain('It goes to no other host.');
});

test.each(['requested', 'reconciling', 'awaiting_approval'] as const)(
  'a wait in %s says why, for how long, and nothing of what was sent',
  (state) => {
    const said = waitDetails({ ...WAIT, kind: 'wait', state });
    expect(said).toContain('its rate is used up (`rate_limited`)');
    expect(said).toContain('900 ms');
    expect(said).not.toContain('Nothing was sent');
  },
);

test('an operator sees who wants the action stopped', () => {
  expect(operatorDetails({ ...NEEDED, cancelRequestedBy: 'ada' }, 'a1')).toContain(
    'It was asked to stop by ada.',
  );
  expect(operatorDetails(NEEDED, 'a1')).not.toContain('stop');
});

test('an approver reads what is asked for, by whom, until when, and each way to decide', () => {
  const said = approvalDetails(
    {
      ...{ kind: 'approval', capabilityId: 'refunds.pay', requestedBy: 'ada', forMs: 1 },
      ...{ requestDigest: 'd4', expiresAt: '2026-01-31T12:00:00Z' },
    },
    { tenantId: tenantId('acme'), actionId: 'refund-1' },
  );
  for (const part of ['refunds.pay', 'ada', '2026-01-31T12:00:00Z', '--digest d4', '`deny`']) {
    expect(said).toContain(part);
  }
  expect(said).toContain('waybill approvals approve refund-1');
  expect(said).toContain('--about action/refund-1');
});
