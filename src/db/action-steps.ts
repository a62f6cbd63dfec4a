/**
 * The steps of an action in Postgres: sending, asking, waiting, stopping. One function a step. What a
 * person must be able to prove is written with its receipt (docs/architecture, "Receipts").
 */
import type { DispatchRequest } from '../domain/action-activities';
import type { ActionRef } from '../domain/action-service';
import type { Progress } from '../domain/host-protocol';
import type { SignActionReceipt } from '../domain/receipts';
import type { ActionResult, Settlement, UnknownCause } from '../domain/routes';
import type { ActionPosition } from '../schemas/action-step-rows';
import {
  BeginDispatchAnswer,
  BeginFencingAnswer,
  CloseDispatchAnswer,
  ConcludeFencingAnswer,
  GiveUpAnswer,
  ReadAction,
  RequestCancelAnswer,
  ResolveActionAnswer,
  UnattendedAction,
} from '../schemas/action-step-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';
import { writeReceipted, type Receipting } from './receipted';

export const actionStepStatements = {
  read: { name: 'action_read', text: 'select waybill.read_action($1, $2) as action' },
  beginDispatch: {
    name: 'action_begin_dispatch',
    text: 'select answer, request from waybill.begin_dispatch($1, $2, $3, $4)',
  },
  closeDispatch: {
    name: 'action_close_dispatch',
    text: 'select waybill.close_dispatch($1, $2, $3, $4, $5, $6) as answer',
  },
  settleLost: {
    name: 'action_settle_lost',
    text: 'select waybill.settle_lost($1, $2, $3, $4, $5) as answer',
  },
  beginFencing: {
    name: 'action_begin_fencing',
    text: 'select answer, request from waybill.begin_fencing($1, $2, $3)',
  },
  concludeFencing: {
    name: 'action_conclude_fencing',
    text: 'select waybill.conclude_fencing($1, $2, $3, $4, $5, $6) as answer',
  },
  noteProgress: {
    name: 'action_note_progress',
    text: 'select waybill.note_progress($1, $2, $3, $4)',
  },
  noteWait: {
    name: 'action_note_wait',
    text: 'select waybill.note_action_wait($1, $2, $3, $4, $5)',
  },
  giveUp: {
    name: 'action_give_up',
    text: 'select waybill.give_up_action($1, $2, $3, $4, $5) as answer',
  },
  requestCancel: {
    name: 'action_request_cancel',
    text: 'select waybill.request_cancel($1, $2, $3, $4, $5) as answer',
  },
  resolve: {
    name: 'action_resolve',
    text: 'select waybill.resolve_action($1, $2, $3, $4, $5, $6) as answer',
  },
  claimUnattended: {
    name: 'action_claim_unattended',
    text: 'select * from waybill.claim_unattended_actions($1, $2)',
  },
  giveBack: {
    name: 'action_give_back',
    text: 'select waybill.give_back_actions($1, $2, $3, $4)',
  },
} as const satisfies Record<string, Statement>;

/** The action with its newest attempt; null: there is none. */
export async function readAction(db: Database, ref: ActionRef): Promise<ReadAction | null> {
  const rows = await db.query(actionStepStatements.read, [ref.tenantId, ref.actionId]);
  return ReadAction.nullable().parse(onlyRow(rows)['action']);
}

/** The last step before the request leaves; `request` are its bytes where it may. */
export async function beginDispatch(
  db: Database,
  dispatch: Omit<DispatchRequest, 'followMs'>,
): Promise<{ readonly answer: BeginDispatchAnswer; readonly request: Buffer | null }> {
  const { tenantId, actionId, fence, resume } = dispatch;
  const values = [tenantId, actionId, fence, resume];
  const row = onlyRow(await db.query(actionStepStatements.beginDispatch, values));
  return { answer: BeginDispatchAnswer.parse(row['answer']), request: bytesOf(row['request']) };
}

/** A result as it is written: its bytes apart. */
export interface FoundResult {
  readonly outcome: ActionResult['outcome'];
  readonly errorCode: string | null;
  readonly detail: string | null;
}

export interface DispatchClose {
  readonly settlement: Settlement;
  readonly unknownCause: UnknownCause | null;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly result: FoundResult | null;
  /** The provider has asked for so long a pause: then waiting costs no attempt. */
  readonly retryAfterMs?: number | null;
}

/** Settles the attempt and records the result that it brought. */
export async function closeDispatch(
  db: Database,
  at: ActionRef & { readonly fence: number },
  close: DispatchClose & { readonly resultBytes: Uint8Array | null },
  receipting: Receipting,
): Promise<CloseDispatchAnswer> {
  const { resultBytes, ...rest } = close;
  const values = [at.tenantId, at.actionId, at.fence, JSON.stringify(rest), resultBytes];
  const { closeDispatch: statement } = actionStepStatements;
  const row = await writeReceipted(db, statement, receipting, (receipt) => [...values, receipt]);
  return CloseDispatchAnswer.parse(row['answer']);
}

/** Settles an attempt whose sender is lost: the row knows whether anything was sent. */
export async function settleLost(
  db: Database,
  at: ActionRef & { readonly fence: number },
  evidence: Readonly<Record<string, unknown>>,
  sign: SignActionReceipt,
): Promise<void> {
  const values = [at.tenantId, at.actionId, at.fence, JSON.stringify(evidence)];
  const receipting = { expected: null, sign };
  await writeReceipted(db, actionStepStatements.settleLost, receipting, (receipt) => [
    ...values,
    receipt,
  ]);
}

/** Opens a fencing call; `request` is there for a memory that is asked to look. */
export async function beginFencing(
  db: Database,
  { tenantId, actionId }: ActionRef,
  ask: { readonly aboveFence: number | null; readonly adopt: string | null },
  sign: SignActionReceipt,
): Promise<{ readonly answer: BeginFencingAnswer; readonly request: Buffer | null }> {
  const { aboveFence, adopt } = ask;
  const { beginFencing: statement } = actionStepStatements;
  const row = await writeReceipted(db, statement, { expected: null, sign }, (receipt) => [
    tenantId,
    actionId,
    JSON.stringify({ aboveFence, adopt, receipt: JSON.parse(receipt ?? 'null') as unknown }),
  ]);
  return { answer: BeginFencingAnswer.parse(row['answer']), request: bytesOf(row['request']) };
}

/** What a fencing call found out. */
export type Found =
  | { readonly kind: 'result'; readonly result: FoundResult }
  | { readonly kind: 'not_started' }
  | { readonly kind: 'repeatable'; readonly detail: string }
  | { readonly kind: 'needs_operator'; readonly reason: string; readonly detail: string }
  | {
      readonly kind: 'again';
      readonly reason: string;
      readonly detail: string;
      readonly inMs: number;
      /** The host is at work, and says so much of it. */
      readonly progress?: Progress | null;
    };

export async function concludeFencing(
  db: Database,
  at: ActionRef & { readonly fence: number },
  found: Found & {
    readonly evidence: Readonly<Record<string, unknown>>;
    /** The memory that knows the action since this call; null: no other than before. */
    readonly adopted: string | null;
    readonly resultBytes: Uint8Array | null;
  },
  receipting: Receipting,
): Promise<ConcludeFencingAnswer> {
  const { resultBytes, ...rest } = found;
  const values = [at.tenantId, at.actionId, at.fence, JSON.stringify(rest), resultBytes];
  const { concludeFencing: statement } = actionStepStatements;
  const row = await writeReceipted(db, statement, receipting, (receipt) => [...values, receipt]);
  return ConcludeFencingAnswer.parse(row['answer']);
}

/** What the host of an open attempt says of how far it is; a late word is dropped. */
export async function noteProgress(
  db: Database,
  { tenantId, actionId, fence }: ActionRef & { readonly fence: number },
  progress: Progress,
): Promise<void> {
  const values = [tenantId, actionId, fence, JSON.stringify(progress)];
  await db.query(actionStepStatements.noteProgress, values);
}

/** The action waits for time: why, and for how long. */
export async function noteWait(
  db: Database,
  { tenantId, actionId }: ActionRef,
  wait: { readonly reason: string; readonly detail: string; readonly forMs: number },
): Promise<void> {
  const values = [tenantId, actionId, wait.reason, wait.detail, wait.forMs];
  await db.query(actionStepStatements.noteWait, values);
}

/** It cannot be reserved any more: failed, or, where it is uncertain, for a person. */
export async function giveUpAction(
  db: Database,
  { tenantId, actionId }: ActionRef,
  why: { readonly reason: string; readonly detail: string },
  sign: SignActionReceipt,
): Promise<ActionPosition | null> {
  const values = [tenantId, actionId, why.reason, why.detail];
  const receipting = { expected: null, sign };
  const row = await writeReceipted(db, actionStepStatements.giveUp, receipting, (receipt) => [
    ...values,
    receipt,
  ]);
  const answer = GiveUpAnswer.parse(row['answer']);
  return answer.kind === 'looked' ? answer.action : null;
}

/** Decides a cancel on the row. */
export async function requestCancel(
  db: Database,
  { tenantId, actionId }: ActionRef,
  who: { readonly cancelledBy: string; readonly reason: string },
  sign: SignActionReceipt,
) {
  const values = [tenantId, actionId, who.cancelledBy, who.reason];
  const { requestCancel: statement } = actionStepStatements;
  const receipting = { expected: null, sign };
  const row = await writeReceipted(db, statement, receipting, (receipt) => [...values, receipt]);
  return RequestCancelAnswer.parse(row['answer']);
}

/** Writes what a person says became of an action that needs one. */
export async function resolveAction(
  db: Database,
  { tenantId, actionId }: ActionRef,
  resolution: {
    readonly outcome: string;
    readonly by: string;
    readonly reason: string;
    readonly errorCode: string | null;
  },
  sign: SignActionReceipt,
) {
  const { by, outcome, reason, errorCode } = resolution;
  const values = [tenantId, actionId, by, JSON.stringify({ outcome, reason, errorCode }), null];
  const receipting = { expected: null, sign };
  const row = await writeReceipted(db, actionStepStatements.resolve, receipting, (receipt) => [
    ...values,
    receipt,
  ]);
  return ResolveActionAnswer.parse(row['answer']);
}

/** Open actions that are due to be attended to; over a pool of role `waybill_operations`. */
export async function claimUnattendedActions(
  db: Database,
  limit: number,
  claimMs: number,
): Promise<UnattendedAction[]> {
  const rows = await db.query(actionStepStatements.claimUnattended, [limit, claimMs]);
  return rows.map((row) => UnattendedAction.parse(row));
}

/** Actions that were claimed for nothing: due again after `againMs`, unless somebody has put them off since. */
export async function giveBackActions(
  db: Database,
  actions: readonly Pick<UnattendedAction, 'tenant_id' | 'action_id'>[],
  { claimMs, againMs }: { readonly claimMs: number; readonly againMs: number },
): Promise<void> {
  const tenants = actions.map((one) => one.tenant_id);
  const ids = actions.map((one) => one.action_id);
  await db.query(actionStepStatements.giveBack, [tenants, ids, claimMs, againMs]);
}

function bytesOf(value: unknown): Buffer | null {
  return Buffer.isBuffer(value) ? value : null;
}
