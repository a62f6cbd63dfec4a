/** Whether an approval that a caller carries counts for what it is to be sent with. */
import type { CarriedApproval } from '../domain/sending';
import type { TrustedApprovers } from '../schemas/trusted-approvers';
import { type ApprovalContext, verifyApproval } from '../signing/approvals/verify';

export type JudgedApproval =
  | { readonly ok: true; readonly approval: CarriedApproval }
  /** One sentence for whoever carried it. */
  | { readonly ok: false; readonly problem: string };

export interface SendingToApprove extends Omit<ApprovalContext, 'about' | 'trusted'> {
  readonly idempotencyKey: string;
  /** Nobody approves what they ask for themselves. */
  readonly requestedBy: string;
  readonly trusted: TrustedApprovers;
}

/** @param token null: none was carried */
export async function judgeCarried(
  token: string | null,
  { idempotencyKey, requestedBy, ...context }: SendingToApprove,
): Promise<JudgedApproval> {
  const about = `delivery/${idempotencyKey}`;
  const wanted = `an approval token about ${about} and request digest ${context.requestDigest}`;
  if (token === null) return { ok: false, problem: `it needs ${wanted}` };
  const verdict = await verifyApproval(token, { ...context, about });
  if (!verdict.ok) {
    const reason = verdict.reason.replaceAll('_', ' ');
    return { ok: false, problem: `the approval does not count (${reason}); it needs ${wanted}` };
  }
  if (verdict.approval.approver === requestedBy) {
    return { ok: false, problem: 'nobody approves what they ask for themselves' };
  }
  return { ok: true, approval: verdict.approval };
}
