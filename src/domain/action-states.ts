/**
 * The action's state machine as one table. `migrations/` repeats it as a guard in SQL, a test walks
 * every cell of both, and docs/architecture.md draws it.
 */

export const ACTION_STATES = [
  'requested',
  'awaiting_approval',
  'reserved',
  'dispatching',
  'cancelling',
  'unknown',
  'reconciling',
  'needs_operator',
  'completed',
  'failed',
  'cancelled',
] as const;

export type ActionState = (typeof ACTION_STATES)[number];

/** From each state, the states that may follow. */
export const ACTION_TRANSITIONS: Readonly<Record<ActionState, readonly ActionState[]>> = {
  requested: ['awaiting_approval', 'reserved', 'cancelled', 'failed'],
  awaiting_approval: ['requested', 'failed', 'cancelled'],
  // Back to requested: it is proven that nothing was started.
  reserved: ['dispatching', 'requested', 'unknown', 'cancelled'],
  dispatching: ['completed', 'failed', 'requested', 'cancelling', 'unknown'],
  cancelling: ['cancelled', 'completed', 'failed', 'unknown'],
  unknown: ['reconciling'],
  reconciling: ['completed', 'failed', 'cancelled', 'requested', 'needs_operator'],
  needs_operator: ['completed', 'failed', 'cancelled', 'requested'],
  completed: [],
  failed: [],
  cancelled: [],
};

/** The only state in which an action may come into being. */
export const ACTION_BIRTH_STATE: ActionState = 'requested';

/** Closed for good: the result is written, or there will never be one. */
export const CLOSED_ACTION_STATES: readonly ActionState[] = ['completed', 'failed', 'cancelled'];

/** Whether the state machine allows this step. */
export function actionMayFollow(from: ActionState, to: ActionState): boolean {
  return ACTION_TRANSITIONS[from].includes(to);
}

/** Open: a workflow must exist for it. */
export function isOpenAction(state: ActionState): boolean {
  return !CLOSED_ACTION_STATES.includes(state);
}
