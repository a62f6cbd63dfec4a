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
import type { ActionWorkflowInput, ResolveAnswer } from '../domain/action-activities';
import { CANCEL_SIGNAL, RESOLVE_UPDATE } from '../domain/action-activities';
import { resolutionProblem } from '../domain/action-requests';
import { NUDGE_SIGNAL } from '../domain/delivery-activities';
import type { ActionResult } from './action-actor';
import { ActionActor } from './action-actor';

const cancelSignal = defineSignal<[unknown?]>(CANCEL_SIGNAL);
const nudgeSignal = defineSignal(NUDGE_SIGNAL);
const resolveUpdate = defineUpdate<ResolveAnswer, [unknown?]>(RESOLVE_UPDATE);

export async function action(input: ActionWorkflowInput): Promise<ActionResult> {
  const actor = new ActionActor(input);
  setHandler(nudgeSignal, () => {
    actor.nudge();
  });
  // Handlers work on although the button of the Temporal UI has cancelled the workflow.
  setHandler(cancelSignal, (given) => CancellationScope.nonCancellable(() => actor.cancel(given)));
  const resolve = (given?: unknown) => CancellationScope.nonCancellable(() => actor.resolve(given));
  setHandler(resolveUpdate, resolve, {
    validator: (given?: unknown) => {
      const problem = resolutionProblem(given) ?? actor.unresolvable();
      if (problem !== null) throw ApplicationFailure.create({ type: 'invalid', message: problem });
    },
  });
  // The button "Cancel" of the Temporal UI is a wish like any other: what was begun is finished.
  CancellationScope.current()
    .cancelRequested.catch(() => CancellationScope.nonCancellable(() => actor.cancel(undefined)))
    .catch(() => undefined);
  return await CancellationScope.nonCancellable(() => live(actor, input));
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
