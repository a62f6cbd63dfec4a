/** What people say became of actions that need an operator. */
import type { ActionState } from './action-states';

/** `retry`: it is certain that there was no effect; the action starts anew on its route. */
export const RESOLUTIONS = ['completed', 'failed', 'cancelled', 'retry'] as const;

export interface Resolution {
  readonly outcome: (typeof RESOLUTIONS)[number];
  readonly by: string;
  readonly reason: string;
}

export type ResolveAnswer =
  | { readonly kind: 'resolved' | 'not_waiting'; readonly state: ActionState }
  | { readonly kind: 'unknown_action' };
