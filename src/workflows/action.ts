/**
 * The life of one action: reserve its route, send it once, and find out what became of it before
 * anything else is done. The row in Postgres decides; this actor owns the order of the steps and the
 * waiting between them, and shows both in the Temporal UI.
 */
import {
  ApplicationFailure,
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  defineUpdate,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { ActionWorkflowInput } from '../domain/action-activities';
import {
  APPROVE_UPDATE,
  CANCEL_SIGNAL,
  DENY_UPDATE,
  RESOLVE_UPDATE,
} from '../domain/action-activities';
import type { ApprovalAnswer } from '../domain/approvals';
import { NUDGE_SIGNAL } from '../domain/delivery-activities';
import type { ResolveAnswer } from '../domain/resolutions';
import type { ActionResult } from './action-actor';
import { ActionActor } from './action-actor';
import type { ActionDecisions } from './action-decisions';

const cancelSignal = defineSignal<[unknown?]>(CANCEL_SIGNAL);
const nudgeSignal = defineSignal(NUDGE_SIGNAL);
const resolveUpdate = defineUpdate<ResolveAnswer, [unknown?]>(RESOLVE_UPDATE);
const approveUpdate = defineUpdate<ApprovalAnswer, [unknown?]>(APPROVE_UPDATE);
const denyUpdate = defineUpdate<ApprovalAnswer, [unknown?]>(DENY_UPDATE);

export async function action(input: ActionWorkflowInput): Promise<ActionResult> {
  const actor = new ActionActor(input);
  setHandler(nudgeSignal, () => {
    actor.nudge();
  });
  takeDecisions(actor.decisions);
  // The button "Cancel" of the Temporal UI is a wish like any other: what was begun is finished.
  CancellationScope.current()
    .cancelRequested.catch(() =>
      CancellationScope.nonCancellable(() => actor.decisions.cancel(undefined)),
    )
    .catch(() => undefined);
  return await CancellationScope.nonCancellable(() => live(actor, input));
}

/** Handlers work on although the button of the Temporal UI has cancelled the workflow. */
function takeDecisions(decisions: ActionDecisions): void {
  const whole = CancellationScope.nonCancellable.bind(CancellationScope);
  setHandler(cancelSignal, (given) => whole(() => decisions.cancel(given)));
  setHandler(resolveUpdate, (given?: unknown) => whole(() => decisions.resolve(given)), {
    validator: (given?: unknown) => {
      refuse(decisions.unresolvable(given));
    },
  });
  setHandler(approveUpdate, (given?: unknown) => whole(() => decisions.approve(given)), {
    validator: (given?: unknown) => {
      refuse(decisions.unapprovable(given));
    },
  });
  setHandler(denyUpdate, (given?: unknown) => whole(() => decisions.deny(given)), {
    validator: (given?: unknown) => {
      refuse(decisions.undeniable(given));
    },
  });
}

function refuse(problem: string | null): void {
  if (problem !== null) throw ApplicationFailure.create({ type: 'invalid', message: problem });
}

async function live(actor: ActionActor, input: ActionWorkflowInput): Promise<ActionResult> {
  for (;;) {
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof action>(input);
    }
    const result = await actor.step();
    if (result === null) continue;
    await condition(allHandlersFinished);
    return result;
  }
}
