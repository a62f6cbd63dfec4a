/**
 * The delivery's state machine as one table. `migrations/` repeats it as a guard in SQL, a test
 * walks every cell of both, and docs/architecture.md draws it.
 */

export const DELIVERY_STATES = [
  'Received',
  'Verified',
  'Rejected',
  'Deduplicated',
  'Dispatched',
  'Acknowledged',
  'Failed',
  'Replayed',
] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** From each state, the states that may follow. */
export const DELIVERY_TRANSITIONS: Readonly<Record<DeliveryState, readonly DeliveryState[]>> = {
  Received: ['Verified', 'Rejected', 'Failed'],
  Verified: ['Deduplicated', 'Dispatched', 'Failed'],
  Rejected: [],
  Deduplicated: [],
  Dispatched: ['Acknowledged', 'Failed'],
  Acknowledged: [],
  Failed: ['Replayed'],
  Replayed: ['Dispatched', 'Failed'],
};

/** The states in which a row may come into being. */
export const DELIVERY_BIRTH_STATES: readonly DeliveryState[] = [
  'Received',
  'Rejected',
  'Deduplicated',
];

/** Live: a workflow must exist for it. The rest is settled, `Failed` until somebody replays it. */
export const LIVE_DELIVERY_STATES: readonly DeliveryState[] = [
  'Received',
  'Verified',
  'Dispatched',
  'Replayed',
];

/** Whether the state machine allows this step. */
export function mayFollow(from: DeliveryState, to: DeliveryState): boolean {
  return DELIVERY_TRANSITIONS[from].includes(to);
}

export function isLive(state: DeliveryState): boolean {
  return LIVE_DELIVERY_STATES.includes(state);
}
