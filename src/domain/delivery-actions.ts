/**
 * Deliveries whose target is an action: which action an attempt is about, and what its end means
 * (docs/architecture, "Action targets").
 */
import type { ActionState } from './action-states';
import type { Verdict } from './attempts';
import type { DeliveryId } from './ids';

/** What is known of the newest action that was started for a delivery. */
export interface StartedAction {
  readonly actionId: string;
  readonly state: ActionState;
  readonly errorCode: string | null;
}

/** The action that a series of attempts starts, if it starts one. */
export function deliveryActionId(deliveryId: DeliveryId, series: number): string {
  return `${deliveryId}.${series}`;
}

/** Failures of which the host says that only the result is missing. */
const WITH_EFFECT: readonly string[] = ['result_too_large', 'result_invalid'];

/**
 * Whether it is certain that the action did nothing and never will: it failed or was cancelled, by its
 * host's word or an operator's, and no result says otherwise. An open one may still do it.
 */
export function isProvablyWithoutEffect({
  state,
  errorCode,
}: Pick<StartedAction, 'state' | 'errorCode'>): boolean {
  if (state === 'cancelled') return true;
  return state === 'failed' && !WITH_EFFECT.includes(errorCode ?? '');
}

/**
 * The action of a series. `meet`: it is there, and its end is the attempt's. `start`: it is to be
 * started, because none was, or because the one of an earlier series provably had no effect.
 * @param newest the newest action that was started for the delivery; null: none was
 */
export function actionOfSeries(
  deliveryId: DeliveryId,
  series: number,
  newest: StartedAction | null,
): { readonly kind: 'meet' | 'start'; readonly actionId: string } {
  const actionId = deliveryActionId(deliveryId, series);
  if (newest === null) return { kind: 'start', actionId };
  if (newest.actionId !== actionId && isProvablyWithoutEffect(newest)) {
    return { kind: 'start', actionId };
  }
  return { kind: 'meet', actionId: newest.actionId };
}

/** What the end of its action is for an attempt; null: the action is open. No later attempt helps. */
export function judgeAction(state: ActionState): Verdict | null {
  const ended = { mayRetry: false, pausesSubscription: false };
  switch (state) {
    case 'completed':
      return { outcome: 'acknowledged', reason: null, ...ended };
    case 'failed':
      return { outcome: 'refused', reason: 'action_failed', ...ended };
    case 'cancelled':
      return { outcome: 'refused', reason: 'action_cancelled', ...ended };
    case 'requested':
    case 'awaiting_approval':
    case 'reserved':
    case 'dispatching':
    case 'cancelling':
    case 'unknown':
    case 'reconciling':
    case 'needs_operator':
      return null;
  }
}

const FIRST_LOOK_MS = 30_000;
const RAREST_LOOK_MS = 300_000;

/**
 * When to look after an open action by itself: the action tells of its end, so this only makes good a
 * message that was lost, and becomes rarer the longer it takes.
 */
export function followDelayMs(openForMs: number): number {
  return Math.min(RAREST_LOOK_MS, Math.max(FIRST_LOOK_MS, Math.round(openForMs / 4)));
}
