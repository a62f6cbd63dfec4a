/**
 * The life of a bulk replay: planned, let run by a person, worked off batch by batch, and watched
 * until everything that was replayed has ended. The row in Postgres decides; this actor owns the
 * waiting between the batches, and shows the job in the Temporal UI.
 */
import {
  CancellationScope,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  getCurrentDetails,
  log,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { bulkReplayDetails } from '../domain/bulk-replay-details';
import type {
  BulkReplayInput,
  BulkReplayMove,
  BulkReplayState,
  BulkReplayStep,
} from '../domain/bulk-replays';
import { BULK_REPLAY_MOVES, checkMoveSignal } from '../domain/bulk-replays';
import { NUDGE_SIGNAL } from '../domain/delivery-activities';
import { backoffMs } from '../domain/retry';
import { refusedDetails } from '../domain/waiting-details';
import { bulkReplayActivities, tryStep } from './replay-activities';
import { Waiting } from './waiting';
import { WaitingMark } from './waiting-mark';

export interface BulkReplayResult {
  readonly state: BulkReplayState | 'unknown';
}

/** A look at what is under way, when nothing has changed for long. */
const LONGEST_LOOK_MS = 30_000;

export async function replay(input: BulkReplayInput): Promise<BulkReplayResult> {
  const actor = new BulkReplayActor(input);
  setHandler(defineSignal(NUDGE_SIGNAL), () => {
    actor.nudge();
  });
  // Handlers work on although the button of the Temporal UI has cancelled the workflow.
  for (const move of BULK_REPLAY_MOVES) {
    setHandler(defineSignal<[unknown?]>(move), (given) =>
      CancellationScope.nonCancellable(() => actor.move(move, given)),
    );
  }
  // The button "Cancel" of the Temporal UI is a wish like any other: it is decided on the row.
  CancellationScope.current()
    .cancelRequested.catch(() =>
      CancellationScope.nonCancellable(() => actor.move('cancel', undefined)),
    )
    .catch(() => undefined);
  return await CancellationScope.nonCancellable(() => live(actor, input));
}

async function live(actor: BulkReplayActor, input: BulkReplayInput): Promise<BulkReplayResult> {
  for (;;) {
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof replay>(input);
    }
    const result = await actor.step();
    if (result === null) continue;
    // A move that is being decided right now may have work for this run.
    await condition(allHandlersFinished);
    if (!actor.takeNudge()) return result;
  }
}

class BulkReplayActor {
  readonly #input: BulkReplayInput;
  readonly #ref: Pick<BulkReplayInput, 'tenantId' | 'jobId'>;
  readonly #activities: ReturnType<typeof bulkReplayActivities>;
  readonly #mark = new WaitingMark('planning');
  readonly #waiting = new Waiting('replay', this.#mark);
  #troubles = 0;
  /** Batches in a row that have changed nothing. */
  #quiet = 0;
  #before = '';

  constructor(input: BulkReplayInput) {
    this.#input = input;
    this.#ref = { tenantId: input.tenantId, jobId: input.jobId };
    this.#activities = bulkReplayActivities(input);
  }

  nudge(): void {
    this.#waiting.nudge();
  }

  takeNudge(): boolean {
    return this.#waiting.takeNudge();
  }

  /** From the Temporal UI: the same guarded step on the row that the API takes. */
  async move(move: BulkReplayMove, given: unknown): Promise<void> {
    const request = checkMoveSignal(given);
    const refusal = request.ok ? await this.#decide(move, request) : request.problem;
    if (refusal === null) {
      this.nudge();
      return;
    }
    log.warn('the signal was refused', { move, refusal });
    setCurrentDetails(refusedDetails('signal', refusal, getCurrentDetails()));
  }

  /** Why the move was not taken; null: it was, or had been before. */
  async #decide(
    move: BulkReplayMove,
    { by, reason }: { readonly by: string; readonly reason: string | null },
  ): Promise<string | null> {
    try {
      const moved = await this.#activities.moveBulkReplay({ ...this.#ref, move, by, reason });
      if (moved.kind === 'unknown_job') return 'there is no such job any more';
      return moved.kind === 'refused'
        ? `\`${move}\` is not for a job that is ${moved.state}`
        : null;
    } catch {
      return 'it could not be decided; see the log of the workers, and send the signal again';
    }
  }

  /** One batch and the waiting that follows from it; a result ends the workflow. */
  async step(): Promise<BulkReplayResult | null> {
    const step = await tryStep(this.#activities.stepBulkReplay, this.#ref);
    this.#troubles = step.kind === 'trouble' ? this.#troubles + 1 : 0;
    switch (step.kind) {
      case 'trouble':
        return await this.#waiting.recover(step, this.#troubles);
      case 'lost':
        return null;
      case 'unknown_job':
        return { state: 'unknown' };
      case 'planning':
        setCurrentDetails(bulkReplayDetails(step, this.#input.jobId));
        return null;
      case 'running':
        return await this.#goOn(step);
      case 'planned':
      case 'paused':
        return await this.#standBy(step);
      case 'over':
        this.#mark.leave(step.state);
        setCurrentDetails(bulkReplayDetails(step, this.#input.jobId));
        return { state: step.state };
    }
  }

  async #goOn(step: Extract<BulkReplayStep, { kind: 'running' }>): Promise<null> {
    this.#mark.leave('running');
    setCurrentDetails(bulkReplayDetails(step, this.#input.jobId));
    const now = JSON.stringify(step.counts);
    this.#quiet = now === this.#before ? this.#quiet + 1 : 0;
    this.#before = now;
    const lookMs = backoffMs(this.#quiet + 1, 250, LONGEST_LOOK_MS);
    return await this.#waiting.pause(Math.min(step.dueInMs ?? lookMs, lookMs));
  }

  /** Until a person moves the job; when nobody does for long, the next move starts it again. */
  async #standBy(
    step: Extract<BulkReplayStep, { kind: 'planned' | 'paused' }>,
  ): Promise<BulkReplayResult | null> {
    this.#mark.enter(step.kind, bulkReplayDetails(step, this.#input.jobId));
    const ended = await this.#waiting.standBy(this.#input.waitMs);
    return ended === 'time' ? { state: step.kind } : null;
  }
}
