/** Approvals in Postgres: asking, deciding, expiring. One function a step, each on the row first. */
import type { ActionRef } from '../domain/action-service';
import type { ApprovalDecision } from '../domain/approvals';
import type { SignActionReceipt } from '../domain/receipts';
import { AskApprovalAnswer, DecideApprovalAnswer } from '../schemas/approval-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';
import { writeReceipted } from './receipted';

export const approvalStatements = {
  ask: { name: 'approval_ask', text: 'select waybill.ask_approval($1, $2, $3) as answer' },
  expire: { name: 'approval_expire', text: 'select waybill.expire_approval($1, $2, $3) as answer' },
  decide: {
    name: 'approval_decide',
    text: 'select waybill.decide_approval($1, $2, $3, $4) as answer',
  },
} as const satisfies Record<string, Statement>;

/**
 * Asks for the action's approval, or tells what was asked before.
 * @param attendMs how long the caller attends to the action before a loop makes sure that somebody does
 */
export async function askApproval(
  db: Database,
  { tenantId, actionId }: ActionRef,
  attendMs: number,
): Promise<AskApprovalAnswer> {
  const rows = await db.query(approvalStatements.ask, [tenantId, actionId, attendMs]);
  return AskApprovalAnswer.parse(onlyRow(rows)['answer']);
}

/** Fails the action if its approval was asked for and has expired by the database's clock. */
export async function expireApproval(
  db: Database,
  { tenantId, actionId }: ActionRef,
  sign: SignActionReceipt,
): Promise<void> {
  await writeReceipted(db, approvalStatements.expire, { expected: null, sign }, (receipt) => [
    ...[tenantId, actionId, receipt],
  ]);
}

export async function decideApproval(
  db: Database,
  { tenantId, actionId, ...decision }: ApprovalDecision,
  sign: SignActionReceipt,
): Promise<DecideApprovalAnswer> {
  const values = [tenantId, actionId, JSON.stringify(decision)];
  const receipting = { expected: null, sign };
  const row = await writeReceipted(db, approvalStatements.decide, receipting, (receipt) => [
    ...values,
    receipt,
  ]);
  return DecideApprovalAnswer.parse(row['answer']);
}
