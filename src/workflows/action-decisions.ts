/**
 * What people decide about an action from the Temporal UI. Each decision is made on the row first, like
 * one by the API, and then the workflow looks there.
 */
import {
  ApplicationFailure,
  getCurrentDetails,
  log,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { ActionWorkflowInput, NextStep } from '../domain/action-activities';
import { checkCancelSignal, readResolution, resolutionProblem } from '../domain/action-requests';
import type { ApprovalAnswer } from '../domain/approvals';
import { approvalProblem, denialProblem, readApproval, readDenial } from '../domain/approvals';
import type { ResolveAnswer } from '../domain/resolutions';
import { refusedDetails } from '../domain/waiting-details';
import { localActivities, tryLocal } from './action-activities';
import type { Trouble } from './trouble';
import type { Waiting } from './waiting';

export class ActionDecisions {
  readonly #ref: Pick<ActionWorkflowInput, 'tenantId' | 'actionId'>;
  readonly #waiting: Waiting;
  readonly #local = localActivities();
  #wanted: NextStep['kind'] | 'trouble' | null = null;

  constructor({ tenantId, actionId }: ActionWorkflowInput, waiting: Waiting) {
    this.#ref = { tenantId, actionId };
    this.#waiting = waiting;
  }

  /** What the action wants now: whether there is anything to decide. */
  set wanted(kind: NextStep['kind'] | 'trouble') {
    this.#wanted = kind;
  }

  /** Why the update `resolve` cannot be taken now; null: it can. */
  unresolvable(given: unknown): string | null {
    const not = this.#wanted === 'operator' ? null : 'the action does not need an operator now';
    return resolutionProblem(given) ?? not;
  }

  /** Why the update `approve` cannot be taken now; null: it can. Whose signature it is, the row decides. */
  unapprovable(given: unknown): string | null {
    return approvalProblem(given) ?? this.#unasked();
  }

  /** Why the update `deny` cannot be taken now; null: it can. */
  undeniable(given: unknown): string | null {
    return denialProblem(given) ?? this.#unasked();
  }

  #unasked(): string | null {
    return this.#wanted === 'approval' ? null : 'the action does not wait for an approval now';
  }

  async cancel(given: unknown): Promise<void> {
    const request = checkCancelSignal(given);
    if (!request.ok) {
      log.warn('the cancel was refused', { refusal: request.problem });
      setCurrentDetails(refusedDetails('signal', request.problem, getCurrentDetails()));
      return;
    }
    const { cancelledBy, reason } = request;
    const decided = await tryLocal(() =>
      this.#local.cancelAction({ ...this.#ref, cancelledBy, reason }),
    );
    if (decided.kind === 'trouble') {
      const refusal = 'it could not be decided; send the signal again';
      setCurrentDetails(refusedDetails('signal', refusal, getCurrentDetails()));
      return;
    }
    this.#waiting.nudge();
  }

  /** What a person says became of it. */
  async resolve(given: unknown): Promise<ResolveAnswer> {
    const resolution = readResolution(given);
    return this.#told(
      await tryLocal(() => this.#local.resolveAction({ ...this.#ref, ...resolution })),
    );
  }

  async approve(given: unknown): Promise<ApprovalAnswer> {
    const token = readApproval(given);
    return this.#taken(await tryLocal(() => this.#local.approveAction({ ...this.#ref, token })));
  }

  async deny(given: unknown): Promise<ApprovalAnswer> {
    const denial = readDenial(given);
    return this.#taken(await tryLocal(() => this.#local.denyAction({ ...this.#ref, ...denial })));
  }

  /** Whatever was not decided as asked for is a failure of the update, which shows why. */
  #taken(answer: ApprovalAnswer | Trouble): ApprovalAnswer {
    const told = this.#told(answer);
    if (told.kind === 'decided' || told.kind === 'already') return told;
    throw ApplicationFailure.create({ type: told.kind, message: refusalOf(told) });
  }

  #told<Answer>(answer: Answer | Trouble): Answer {
    if (isTrouble(answer)) {
      throw ApplicationFailure.create({ type: answer.code, message: answer.message });
    }
    this.#waiting.nudge();
    return answer;
  }
}

function isTrouble(answer: unknown): answer is Trouble {
  return (answer as { readonly kind: unknown }).kind === 'trouble';
}

function refusalOf(answer: ApprovalAnswer): string {
  switch (answer.kind) {
    case 'decided':
    case 'already':
      return answer.state;
    case 'not_waiting':
      return `nothing of it waits for an approval: it is ${answer.state}, its approval ${answer.approval ?? 'was never asked for'}`;
    case 'approver_is_requester':
      return 'whoever has asked for it may not approve it';
    case 'approval_refused':
      return `the approval does not count: ${answer.reason}`;
    case 'unknown_action':
      return 'there is no such action';
  }
}
