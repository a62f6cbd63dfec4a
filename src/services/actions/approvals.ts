/**
 * Approvals of actions (docs/architecture, "Approvals"). Each decision is on the row; whoever made it tells
 * the workflow afterwards, and where that gets lost a loop does.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readAction } from '../../db/action-steps';
import { askApproval, decideApproval, expireApproval } from '../../db/approvals';
import { readTrustedApprovers } from '../../db/approvers';
import type { Database } from '../../db/database';
import type { AwaitingApproval } from '../../domain/action-activities';
import type { ActionOrder, ActionRef } from '../../domain/action-service';
import { aboutAction, type ApprovalAnswer, type ApprovalDecision } from '../../domain/approvals';
import { WaybillError } from '../../domain/errors';
import type { CarriedApproval } from '../../domain/sending';
import { point } from '../../points';
import {
  type ApprovalRefusal,
  type ApprovalVerdict,
  verifyApproval,
} from '../../signing/approvals/verify';
import type { ActionServices } from './action-services';

type Deciding = Pick<ActionServices, 'data' | 'sign'>;

/** While an action waits for a person, how soon somebody makes sure that its workflow is there. */
const ATTEND_MS = 30 * 60_000;

/**
 * Asks for an approval once, however often it is called.
 * @returns what is waited for; `look`: the row wants something else by now
 */
export async function awaitApproval(
  services: Deciding,
  ref: ActionRef,
): Promise<AwaitingApproval | { readonly kind: 'look' } | { readonly kind: 'unknown_action' }> {
  const asked = await askApproval(services.data, ref, ATTEND_MS);
  await point('approval.asked');
  if (asked.kind === 'unknown_action') return asked;
  if (asked.kind === 'looked') return { kind: 'look' };
  const { action, approval, requestedBy } = asked;
  if (approval.expiresInMs <= 0) {
    const why = { errorCode: 'approval_expired', reason: 'approval_expired' };
    await expireApproval(services.data, ref, services.sign(ref, why));
    return { kind: 'look' };
  }
  return {
    kind: 'approval',
    capabilityId: action.capabilityId,
    requestDigest: action.requestDigest,
    requestedBy,
    expiresAt: approval.expiresAt,
    forMs: approval.expiresInMs + 1,
  };
}

/** Decides on the row. The first decision counts; whoever calls it tells the workflow. */
export async function decide(
  services: Deciding,
  decision: ApprovalDecision,
): Promise<ApprovalAnswer> {
  const { by, reason, approvalId } = decision;
  const about =
    decision.decision === 'approved'
      ? { by, reason, approval: approvalId }
      : { by, reason, errorCode: 'approval_denied' };
  const sign = services.sign(decision, about);
  const answer = await decideApproval(services.data, decision, sign);
  await point('approval.decided');
  if (answer.kind === 'unknown_action') return answer;
  const { state } = answer.action;
  if (answer.kind !== 'not_waiting') return { kind: answer.kind, state };
  return { kind: answer.kind, state, approval: answer.approval?.state ?? null };
}

/** A decision of this id, for people who have none of their own. */
export function newApprovalId(): string {
  return randomUUID();
}

/** As the delivery's row has it. */
export type DeliveryApproval = Pick<CarriedApproval, 'approvalId' | 'approver'>;

interface Carried {
  readonly approval: CarriedApproval;
  readonly token: string;
}

/**
 * The approval that an order carries, before anything is started; null: none.
 * @throws WaybillError `approval_refused`, `approver_is_requester`
 */
export async function carriedApproval(
  data: Database,
  order: ActionOrder,
  request: Uint8Array,
): Promise<Carried | null> {
  const { approval: token = null, requestedBy } = order;
  if (token === null) return null;
  const requestDigest = createHash('sha256').update(request).digest('hex');
  const verdict = await check(data, order, { token, requestDigest });
  const field = { field: 'approval' };
  if (!verdict.ok) throw new WaybillError('approval_refused', REFUSALS[verdict.reason], field);
  if (verdict.approval.approver === requestedBy) {
    throw new WaybillError('approver_is_requester', '', field);
  }
  return { approval: verdict.approval, token };
}

/** Whether that was news: an action that needs none, or is over, takes none. */
export async function approveCarried(
  services: Deciding,
  ref: ActionRef,
  { approval, token }: Carried,
): Promise<boolean> {
  const answer = await decide(services, decisionOf(ref, approval, token));
  if (answer.kind === 'approver_is_requester') {
    throw new WaybillError('approver_is_requester', '', { field: 'approval' });
  }
  return answer.kind === 'decided';
}

/**
 * Approves by the approval of the delivery that the action sends; the row looks that it is that one.
 * @returns whether that was news
 */
export async function approveByDelivery(
  services: Deciding,
  { tenantId, actionId }: ActionRef,
  { approvalId, approver }: DeliveryApproval,
): Promise<boolean> {
  const answer = await decide(services, {
    ...{ tenantId, actionId, decision: 'approved', by: approver, reason: null },
    ...{ via: 'delivery', approvalId, token: null },
  });
  return answer.kind === 'decided';
}

/** Approves by a signed approval, whoever brings it. */
export async function approveByToken(
  services: Deciding,
  ref: ActionRef,
  token: string,
): Promise<ApprovalAnswer> {
  const action = await readAction(services.data, ref);
  if (action === null) return { kind: 'unknown_action' };
  const { requestDigest } = action;
  const verdict = await check(services.data, ref, { token, requestDigest });
  if (!verdict.ok) return { kind: 'approval_refused', reason: REFUSALS[verdict.reason] };
  return await decide(services, decisionOf(ref, verdict.approval, token));
}

/** Denies it in the name that somebody typed: that can do no more than a cancel. */
export async function denyByName(
  services: Deciding,
  { tenantId, actionId, by, reason }: ActionRef & { readonly by: string; readonly reason: string },
): Promise<ApprovalAnswer> {
  return await decide(services, {
    ...{ tenantId, actionId, decision: 'denied', by, reason },
    ...{ via: 'temporal_ui', approvalId: newApprovalId(), token: null },
  });
}

async function check(
  data: Database,
  { tenantId, actionId }: ActionRef,
  carried: { readonly token: string; readonly requestDigest: string },
): Promise<ApprovalVerdict> {
  const { trusted, nowMs } = await readTrustedApprovers(data);
  const about = aboutAction(actionId);
  const { token, requestDigest } = carried;
  return await verifyApproval(token, { tenantId, about, requestDigest, nowMs, trusted });
}

function decisionOf(
  { tenantId, actionId }: ActionRef,
  { approvalId, approver }: CarriedApproval,
  token: string,
): ApprovalDecision {
  return {
    ...{ tenantId, actionId, decision: 'approved', by: approver, reason: null },
    ...{ via: 'token', approvalId, token },
  };
}

const REFUSALS: Readonly<Record<ApprovalRefusal, string>> = {
  malformed: 'it is no approval token',
  untrusted: 'its key and name are none of the trustedApprovers for this tenant',
  forged: 'it is not signed with the key that it names',
  other_tenant: 'it is for another tenant',
  other_subject: 'it is about something else',
  other_request: 'it approves another request',
  expired: 'it has expired',
  not_yet_valid: 'it says that it is issued later than now; look at the clock of its signer',
};
