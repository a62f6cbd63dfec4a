/** One action as a page for people. */
import type { Action } from '../../schemas/api-actions';
import { waitsForAction } from './action-waiting';
import { receiptTable } from './receipt-table';
import { attemptTable, routeFacts } from './route-page';
import { facts, page, plain, titled } from './sections';

/** @param width columns of the terminal; infinite where a program reads */
export function actionPage(action: Action, width: number): string {
  const { result, route, approval, policyDecision } = action;
  return page([
    facts([
      ['action', action.actionId],
      ['state', stateText(action)],
      ['progress', progressText(action)],
      ['waits for', waitsForAction(action)],
      ['reason', [action.detail, action.reason].filter((part) => part !== null).join(', ')],
      ['capability', action.capabilityId],
      ['requested by', action.requestedBy],
      ['delivery', action.deliveryId ?? ''],
      ['cancel asked by', action.cancelRequestedBy ?? ''],
      ['request', `sha256 ${action.requestDigest.slice(0, 16)}`],
      ['policy', policyDecision === null ? '' : plain(policyDecision)],
      ['affinity', action.affinityKey ?? ''],
      ['started', action.createdAt],
      ['waits since', action.waitingSince ?? ''],
      ['closed', action.closedAt ?? '-'],
      ['deadline', action.deadlineAt],
      ['retry budget', String(action.retryBudget)],
      ['Temporal', action.workflowUrl ?? action.workflowId],
    ]),
    approval === null ? '' : titled('approval', approvalFacts(approval)),
    result === null ? '' : titled('result', resultFacts(result)),
    route === null ? '' : titled('route', routeFacts(route)),
    titled('attempts', attemptTable(action.attempts, width)),
    titled('receipts', receiptTable(action.receipts, width)),
  ]);
}

function stateText({ state, attemptCount }: Action): string {
  if (attemptCount === 0) return state;
  return `${state} after ${attemptCount === 1 ? '1 attempt' : `${attemptCount} attempts`}`;
}

function progressText({ progress }: Action): string {
  if (progress === null) return '';
  const { note, percent, at } = progress;
  return `${percent === null ? '' : `${percent} %, `}${plain(note)}, since ${at}`;
}

function resultFacts(result: NonNullable<Action['result']>): string {
  return facts([
    ['outcome', result.outcome],
    ['error', result.errorCode ?? ''],
    ['sha256', result.resultSha256?.slice(0, 16) ?? ''],
    ['result', result.result === null ? '' : plain(result.result)],
  ]);
}

function approvalFacts(approval: NonNullable<Action['approval']>): string {
  const { state, expiresAt, decidedBy, decidedVia, decidedAt } = approval;
  return facts([
    ['state', state === 'asked' ? `asked, until ${expiresAt}` : state],
    ['asked', approval.askedAt],
    ['decided by', decidedBy === null ? '' : `${decidedBy} (${decidedVia ?? ''})`],
    ['decided', decidedAt ?? ''],
    ['reason', approval.reason ?? ''],
    ['reference', approval.approvalId ?? ''],
    ['request', plain(approval.request)],
  ]);
}
