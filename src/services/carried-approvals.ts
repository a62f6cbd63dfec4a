/** Whether an approval that a caller carries counts for what it is to be sent with. */
import type { CarriedApproval } from '../domain/sending';
import type { TrustedApprovers } from '../schemas/trusted-approvers';
import { type ApprovalContext, verifyApproval } from '../signing/approvals/verify';

/** Of `DELIVER_REFUSALS`: none was carried, it does not count, it is of whoever asks. */
export type ApprovalFault = 'approval_required' | 'approval_refused' | 'approver_is_requester';

export type JudgedApproval =
  | { readonly ok: true; readonly approval: CarriedApproval }
  /** One sentence for whoever carried it. */
  | { readonly ok: false; readonly code: ApprovalFault; readonly problem: string };

export interface SendingToApprove extends Omit<ApprovalContext, 'about' | 'trusted'> {
  readonly idempotencyKey: string;
  /** Who asks for it, now and before: nobody approves what they ask for themselves. */
  readonly requestedBy: readonly string[];
  readonly trusted: TrustedApprovers;
}

/** @param token null: none was carried */
export async function judgeCarried(
  token: string | null,
  { idempotencyKey, requestedBy, ...context }: SendingToApprove,
): Promise<JudgedApproval> {
  const about = `delivery/${idempotencyKey}`;
  const wanted = `an approval token about ${about} and request digest ${context.requestDigest}`;
  if (token === null)
    return { ok: false, code: 'approval_required', problem: `it needs ${wanted}` };
  const verdict = await verifyApproval(token, { ...context, about });
  if (!verdict.ok) {
    const reason = verdict.reason.replaceAll('_', ' ');
    const problem = `the approval does not count (${reason}); it needs ${wanted}`;
    return { ok: false, code: 'approval_refused', problem };
  }
  if (requestedBy.includes(verdict.approval.approver)) {
    const problem = 'nobody approves what they ask for themselves';
    return { ok: false, code: 'approver_is_requester', problem };
  }
  return { ok: true, approval: verdict.approval };
}
