/**
 * The life of one delivery: attempts until it is acknowledged or failed, a bounded wait for a replay,
 * and then the end. The row in Postgres decides; this actor owns the timers between the attempts and
 * the waiting, and shows both in the Temporal UI.
 */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  getCurrentDetails,
  isCancellation,
  log,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { DeliveryWorkflowInput } from '../domain/delivery-activities';
import { NUDGE_SIGNAL, REPLAY_SIGNAL } from '../domain/delivery-activities';
import {
  failedDetails,
  followingDetails,
  heldDetails,
  inFlightDetails,
  notDueDetails,
  retryDetails,
} from '../domain/delivery-details';
import type { DeliveryState } from '../domain/delivery-states';
import type { ReplayWish } from '../domain/replay-requests';
import { checkReplaySignal } from '../domain/replay-requests';
import { refusedDetails } from '../domain/waiting-details';
import type { Tried } from './delivery-attempts';
import { deliveryActivities, tryAttempt } from './delivery-attempts';
import { Waiting } from './waiting';
import { WaitingMark } from './waiting-mark';

const replaySignal = defineSignal<[unknown?]>(REPLAY_SIGNAL);
const nudgeSignal = defineSignal(NUDGE_SIGNAL);

export interface DeliveryResult {
  readonly state: DeliveryState | 'unknown';
}

export async function delivery(input: DeliveryWorkflowInput): Promise<DeliveryResult> {
  const actor = new DeliveryActor(input);
  setHandler(nudgeSignal, () => {
    actor.nudge();
  });
  setHandler(replaySignal, (given) => actor.replay(given));
  for (;;) {
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof delivery>(input);
    }
    const result = await actor.step();
    if (result === null) continue;
    // A replay that is being decided right now may have work for this run.
    await condition(allHandlersFinished);
    if (!actor.takeNudge()) return result;
  }
}

class DeliveryActor {
  readonly #input: DeliveryWorkflowInput;
  readonly #ref: Pick<DeliveryWorkflowInput, 'tenantId' | 'deliveryId'>;
  readonly #activities: ReturnType<typeof deliveryActivities>;
  readonly #mark = new WaitingMark('Received');
  readonly #waiting = new Waiting('delivery', this.#mark);
  /** The previous attempt's activity is lost: whatever it left open is ours to close. */
  #takeOver = false;
  #troubles = 0;

  constructor(input: DeliveryWorkflowInput) {
    this.#input = input;
    this.#ref = { tenantId: input.tenantId, deliveryId: input.deliveryId };
    this.#activities = deliveryActivities(input);
  }

  nudge(): void {
    this.#waiting.nudge();
  }

  /** Whether there was news since this was last asked. */
  takeNudge(): boolean {
    return this.#waiting.takeNudge();
  }

  /**
   * From the Temporal UI: the same guarded step on the row that the API takes. The row decides, at
   * once: where it is not Failed the replay is refused, and not kept for later.
   */
  async replay(given: unknown): Promise<void> {
    const request = checkReplaySignal(given);
    const refusal = request.ok ? await this.#decideReplay(request) : request.problem;
    if (refusal === null) {
      this.nudge();
      return;
    }
    log.warn('the replay was refused', { refusal });
    setCurrentDetails(refusedDetails('replay', refusal, getCurrentDetails()));
  }

  /** Why the replay was not decided; null: it was. */
  async #decideReplay({ replayedBy, reason }: ReplayWish): Promise<string | null> {
    try {
      const answer = await this.#activities.replayDelivery({ ...this.#ref, replayedBy, reason });
      if (answer.kind === 'replayed') return null;
      if (answer.kind === 'already_replaying') return 'a replay is already under way';
      if (answer.kind === 'uncertain' || answer.kind === 'approval_required') {
        return 'it may have had its effect, or is approved no more; it is replayed from the command line or the API only';
      }
      return answer.kind === 'not_failed'
        ? `the delivery is ${answer.state}, not Failed`
        : 'there is no such delivery any more';
    } catch (error) {
      if (isCancellation(error)) throw error;
      return 'it could not be decided; see the log of the workers, and send the signal again';
    }
  }

  /** One attempt and the waiting that follows from it; a result ends the workflow. */
  async step(): Promise<DeliveryResult | null> {
    const { attemptDelivery } = this.#activities;
    const tried = await tryAttempt(attemptDelivery, { ...this.#ref, takeOver: this.#takeOver });
    this.#takeOver = tried.kind === 'lost';
    this.#troubles = tried.kind === 'trouble' ? this.#troubles + 1 : 0;
    // Its action has told of its end, or is about to: this answer knows of it.
    if ('actionId' in tried && tried.kind !== 'following') this.takeNudge();
    switch (tried.kind) {
      case 'acknowledged':
        return this.#end('Acknowledged');
      case 'unknown_delivery':
        return { state: 'unknown' };
      case 'failed':
        return this.#failed(tried);
      case 'settled':
        return tried.state === 'Failed' ? this.#failed(tried) : this.#end(tried.state);
      case 'lost':
      case 'superseded':
        return null;
      case 'retry':
      case 'not_due':
      case 'in_flight':
      case 'following':
      case 'held':
      case 'trouble':
        return this.#wait(tried);
    }
  }

  async #wait(tried: Waited): Promise<null> {
    switch (tried.kind) {
      case 'retry':
        this.#mark.enter('Dispatched', retryDetails(tried, inIso(tried.dueInMs)));
        return this.#waiting.pause(tried.dueInMs);
      case 'not_due':
        // Somebody else made the attempt before; this run has not waited yet.
        if (tried.last !== undefined) {
          this.#mark.enter('Dispatched', retryDetails(tried.last, inIso(tried.dueInMs)));
        } else if (getCurrentDetails() === '')
          setCurrentDetails(notDueDetails(inIso(tried.dueInMs)));
        return this.#waiting.pause(tried.dueInMs);
      case 'in_flight':
        setCurrentDetails(inFlightDetails(tried));
        return this.#waiting.pause(tried.endsInMs);
      case 'following':
        this.#mark.enter('Dispatched', followingDetails(tried, this.#input.tenantId));
        return this.#waiting.pause(tried.againInMs);
      case 'held':
        this.#mark.enter(tried.state, heldDetails(tried.why, this.#input.deliveryId));
        return this.#waiting.pause(tried.againInMs ?? this.#input.heldPollMs);
      case 'trouble':
        return this.#waiting.recover(tried, this.#troubles);
    }
  }

  async #failed(facts: Parameters<typeof failedDetails>[0]): Promise<DeliveryResult | null> {
    const { deliveryId, failedWaitMs } = this.#input;
    this.#mark.enter('Failed', failedDetails(facts, deliveryId, inIso(failedWaitMs)));
    const ended = await this.#waiting.standBy(failedWaitMs);
    if (ended === 'time') return { state: 'Failed' };
    if (ended === 'news') this.#mark.leave('Replayed');
    return null;
  }

  #end(state: DeliveryState): DeliveryResult {
    this.#mark.leave(state);
    return { state };
  }
}

type Waited = Extract<
  Tried,
  { kind: 'retry' | 'not_due' | 'in_flight' | 'following' | 'held' | 'trouble' }
>;

/** The workflow's own time, `ms` from now. */
function inIso(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}
