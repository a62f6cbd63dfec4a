/** One action's steps and waits. Each step asks the row; nothing here is a fact. */
import { condition, getExternalWorkflowHandle, setCurrentDetails } from '@temporalio/workflow';
import type {
  ActionWorkflowInput,
  Asked,
  AwaitingApproval,
  Closed,
  Dispatched,
  NextStep,
  OperatorNeeded,
  SettleStep,
} from '../domain/action-activities';
import {
  againDetails,
  approvalDetails,
  operatorDetails,
  resendDetails,
  runningDetails,
  waitDetails,
} from '../domain/action-details';
import { followMs } from '../domain/action-retry';
import type { ActionState } from '../domain/action-states';
import { NUDGE_SIGNAL } from '../domain/delivery-activities';
import type { DeliveryId } from '../domain/ids';
import { backoffMs } from '../domain/retry';
import { deliveryWorkflowId } from '../domain/workflow-ids';
import type { Ended } from './action-activities';
import { localActivities, tryAsk, tryDispatch, tryLocal } from './action-activities';
import { ActionDecisions } from './action-decisions';
import { Waiting } from './waiting';
import { WaitingMark } from './waiting-mark';

export interface ActionResult {
  readonly state: ActionState | 'unknown';
}

/** A shorter wait is over before anybody could look. */
const SHORT_WAIT_MS = 1_000;

type Sent = Exclude<Ended<Dispatched>, { kind: 'running' }>;

export class ActionActor {
  readonly #input: ActionWorkflowInput;
  readonly #ref: Pick<ActionWorkflowInput, 'tenantId' | 'actionId'>;
  readonly #local = localActivities();
  readonly #mark = new WaitingMark('requested');
  readonly #waiting = new Waiting('action', this.#mark);
  /** What people decide meanwhile. */
  readonly decisions: ActionDecisions;
  /** The ordinal of the next attempt, as far as this run knows. */
  #attemptNo = 1;
  #highestFence: number | null = null;
  #adopt: string | null = null;
  #refusals = 0;
  #rounds = 0;
  #troubles = 0;

  constructor(input: ActionWorkflowInput) {
    this.#input = input;
    this.#ref = { tenantId: input.tenantId, actionId: input.actionId };
    this.decisions = new ActionDecisions(input, this.#waiting);
  }

  nudge(): void {
    this.#waiting.nudge();
  }

  /** One step and the waiting that follows from it; a result ends the workflow. */
  async step(): Promise<ActionResult | null> {
    const { capabilityId, requestDigest, affinityKey } = this.#input;
    const identity = { ...this.#ref, capabilityId, requestDigest, affinityKey };
    const next = await tryLocal(() =>
      this.#local.nextStep({
        ...identity,
        attemptNo: this.#attemptNo,
        aboveFence: this.#highestFence,
        refusals: this.#refusals,
      }),
    );
    this.#troubles = next.kind === 'trouble' ? this.#troubles + 1 : 0;
    this.#refusals = next.kind === 'wait' ? this.#refusals + 1 : 0;
    this.decisions.wanted = next.kind;
    if (next.kind !== 'ask') this.#rounds = 0;
    switch (next.kind) {
      case 'send':
        this.#mark.connector = next.connectorId;
        return await this.#send(next);
      case 'ask':
        return await this.#follow(await tryAsk(this.#input, this.#askRequest()));
      case 'settle':
        this.#attemptNo = next.attemptNo + 1;
        await this.#settle(next.fence, 'worker_lost');
        return null;
      case 'wait':
        this.#show(next.state, waitDetails(next), next.forMs);
        return await this.#waiting.pause(next.forMs);
      case 'approval':
        return await this.#awaitApproval(next);
      case 'operator':
        return await this.#standBy(next);
      case 'closed':
        return await this.#end(next);
      case 'unknown_action':
        return { state: 'unknown' };
      case 'trouble':
        return await this.#waiting.recover(next, this.#troubles);
    }
  }

  async #send(next: Extract<NextStep, { kind: 'send' }>): Promise<ActionResult | null> {
    this.#attemptNo = next.attemptNo + 1;
    for (let round = 0; ; round += 1) {
      const resume = round > 0;
      const request = { ...this.#ref, fence: next.fence, resume, followMs: followMs(round) };
      const sending = { ended: false };
      const sent = tryDispatch(this.#input, request).finally(() => {
        sending.ended = true;
      });
      await this.#cancelMeanwhile(sending);
      const answer = await sent;
      if (answer.kind !== 'running') return await this.#sent(answer, next.fence);
      const ms = backoffMs(round + 1, 250, 5_000);
      this.#mark.enter('dispatching', runningDetails(answer.progress));
      await condition(() => this.#waiting.nudged, ms);
    }
  }

  /** While the host works: a cancel goes to it beside the dispatch, whose answer stays the best one. */
  async #cancelMeanwhile(sending: { readonly ended: boolean }): Promise<void> {
    for (;;) {
      await condition(() => sending.ended || this.#waiting.nudged);
      if (sending.ended) return;
      this.#waiting.takeNudge();
      const asked = await tryAsk(this.#input, this.#askRequest());
      if (asked.kind === 'again') {
        this.#show(asked.state, againDetails(asked), asked.inMs);
        await condition(() => sending.ended || this.#waiting.nudged, asked.inMs);
        this.#rounds += 1;
        this.nudge();
      }
    }
  }

  async #sent(sent: Sent, fence: number): Promise<ActionResult | null> {
    switch (sent.kind) {
      case 'closed':
        return await this.#end(sent);
      case 'not_started': {
        this.#highestFence = sent.highestFence ?? this.#highestFence;
        if (sent.retryInMs === 0) return null;
        this.#show('requested', resendDetails(sent), sent.retryInMs);
        return await this.#waiting.pause(sent.retryInMs);
      }
      case 'unknown':
      case 'look':
        return null;
      case 'never_taken':
        await this.#settle(fence, 'never_taken');
        return null;
      case 'lost':
        await this.#settle(fence, 'worker_lost');
        return null;
      case 'trouble':
        await this.#settle(fence, 'not_settled');
        return null;
    }
  }

  /** Not to be left before it is written: the row must not go on as if the attempt were open. */
  async #settle(fence: number, reason: SettleStep['reason']): Promise<void> {
    for (;;) {
      const step = { ...this.#ref, fence, reason };
      const settled = await tryLocal(() =>
        this.#local.settleAttempt(step).then(() => ({ kind: 'settled' }) as const),
      );
      if (settled.kind === 'settled') return;
      this.#troubles += 1;
      await this.#waiting.recover(settled, this.#troubles);
    }
  }

  #askRequest() {
    return {
      ...this.#ref,
      aboveFence: this.#highestFence,
      adopt: this.#adopt,
      round: this.#rounds,
    };
  }

  async #follow(asked: Ended<Asked>): Promise<ActionResult | null> {
    this.#adopt = null;
    this.#rounds += 1;
    switch (asked.kind) {
      case 'closed':
        return await this.#end(asked);
      case 'look':
        return null;
      case 'again':
        this.#highestFence = asked.highestFence ?? this.#highestFence;
        this.#adopt = asked.adopt;
        this.#show(asked.state, againDetails(asked), asked.inMs);
        return await this.#waiting.pause(asked.inMs);
      case 'never_taken':
      case 'lost':
        // A question may be asked again: it fences, and changes nothing else.
        return await this.#waiting.pause(backoffMs(this.#rounds, 100, 30_000));
      case 'trouble':
        this.#troubles = this.#rounds;
        return await this.#waiting.recover(asked, this.#troubles);
    }
  }

  /** Nothing is held meanwhile. The row says when it is over; this only looks. */
  async #awaitApproval(needed: AwaitingApproval): Promise<null> {
    this.#mark.enter('awaiting_approval', approvalDetails(needed, this.#input));
    return await this.#waiting.pause(Math.min(needed.forMs, this.#input.heldPollMs));
  }

  async #standBy(needed: OperatorNeeded): Promise<null> {
    this.#mark.connector = needed.connectorId;
    this.#mark.enter('needs_operator', operatorDetails(needed, this.#input.actionId));
    return await this.#waiting.pause(this.#input.heldPollMs);
  }

  #show(state: ActionState, details: string, ms: number): void {
    if (ms < SHORT_WAIT_MS) setCurrentDetails(details);
    else this.#mark.enter(state, details);
  }

  async #end({ state, deliveryId }: Closed): Promise<ActionResult> {
    this.#mark.leave(state);
    if (deliveryId !== null) await this.#tell(deliveryId);
    return { state };
  }

  /** The delivery that waits for this action; one that is over, or looks by itself, need not hear. */
  async #tell(deliveryId: DeliveryId): Promise<void> {
    const workflowId = deliveryWorkflowId(this.#input.tenantId, deliveryId);
    await getExternalWorkflowHandle(workflowId)
      .signal(NUDGE_SIGNAL)
      .catch(() => undefined);
  }
}
