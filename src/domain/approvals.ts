/**
 * Approvals of actions: what a person is asked, what they may decide, and what they send to an action's
 * workflow from the Temporal UI, read and bounded (docs/architecture, "Approvals").
 */
import type { ActionState } from './action-states';
import type { TenantId } from './ids';
import { MAX_PERSON, MAX_REASON, fieldsOf, textProblem } from './plain-text';

/** `withdrawn`: the action went on without it, or ended. */
export const APPROVAL_STATES = ['asked', 'approved', 'denied', 'expired', 'withdrawn'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/**
 * How a decision came: `temporal_ui` says no more than a name that somebody typed; `delivery`: what the
 * action sends was approved before.
 */
export const APPROVAL_WAYS = ['api', 'token', 'temporal_ui', 'delivery'] as const;

export interface ApprovalDecision {
  readonly tenantId: TenantId;
  readonly actionId: string;
  readonly decision: 'approved' | 'denied';
  readonly by: string;
  readonly reason: string | null;
  readonly via: (typeof APPROVAL_WAYS)[number];
  /** What an approval is known by at hosts and in receipts; of a signed one its token's id. */
  readonly approvalId: string;
  readonly token: string | null;
}

export type ApprovalAnswer =
  /** `already`: the same was decided before, by whomever. */
  | { readonly kind: 'decided' | 'already'; readonly state: ActionState }
  /** Nothing of it waits for an approval; `approval` is what became of the one that did, if any. */
  | {
      readonly kind: 'not_waiting';
      readonly state: ActionState;
      readonly approval: ApprovalState | null;
    }
  | { readonly kind: 'approver_is_requester'; readonly state: ActionState }
  /** A signed approval that approves something else, or nothing, or was signed by somebody else. */
  | { readonly kind: 'approval_refused'; readonly reason: string }
  | { readonly kind: 'unknown_action' };

/** What the caller's policy has said of an action, as given; nothing is made of it. */
export interface PolicyDecision {
  readonly id: string;
  readonly decision: string;
  readonly policy: string;
}

/** `action/{actionId}`: what a token that approves an action is about. */
export function aboutAction(actionId: string): string {
  return `action/${actionId}`;
}

const MAX_TOKEN = 4_096;
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** What is wrong with the input of the update `approve`; null: nothing. Who signed it is asked later. */
export function approvalProblem(input: unknown): string | null {
  const token = fieldsOf(input)?.['token'];
  const example = '{"token": "…"} with what `waybill approvals sign` prints';
  if (typeof token !== 'string') return `the input is not ${example}`;
  if (token.length > MAX_TOKEN || !COMPACT_JWS.test(token)) {
    return `\`token\` is no signed approval; send ${example}`;
  }
  return null;
}

/** The input of the update `approve`, once nothing is wrong with it. */
export function readApproval(input: unknown): string {
  return String(fieldsOf(input)?.['token']);
}

/** What is wrong with the input of the update `deny`; null: nothing. */
export function denialProblem(input: unknown): string | null {
  const given = fieldsOf(input);
  if (given === null)
    return 'the input is not an object such as {"by": "your name", "reason": "…"}';
  const { by, reason } = given;
  return textProblem('by', by, MAX_PERSON) ?? textProblem('reason', reason, MAX_REASON);
}

/** The input of the update `deny`, once nothing is wrong with it. */
export function readDenial(input: unknown): { readonly by: string; readonly reason: string } {
  const { by, reason } = fieldsOf(input) ?? {};
  return { by: String(by), reason: String(reason) };
}
