/**
 * Moving an action that is pinned to a host (docs/architecture, "Routes"): only where every attempt is
 * proven to have had no effect. The route that is taken back stays as evidence.
 */
import type { RouteAssignment } from './routes';

/** Why a pinned route stays. */
export const REPIN_FAULTS = [
  /** The action is over. */
  'closed',
  /** A reservation is open. */
  'attempt_open',
  /** What became of an attempt is not known. */
  'outcome_unknown',
  /** Somebody wants the action stopped. */
  'cancel_requested',
  'awaiting_approval',
  /** It was never reserved: nothing is pinned. */
  'no_route',
  /** Something else was done with the action while its host was asked. */
  'overtaken',
  /** Its host does not answer, and may still get what was sent to it. */
  'host_unreachable',
  /** Its host does not vouch that nothing began. */
  'not_proven',
] as const;
export type RepinFault = (typeof REPIN_FAULTS)[number];

export interface RepinRefused {
  readonly kind: 'refused';
  readonly why: RepinFault;
}

/** Who moves it, and why; for the record. */
export interface RepinWish {
  readonly by: string;
  readonly reason: string;
}

/** What sealing the old host takes. */
export interface RepinSeal {
  readonly kind: 'seal';
  readonly route: RouteAssignment;
  /** Above every one given out on the route. */
  readonly fence: number;
  readonly incarnation: number;
  readonly storeEpoch: string | null;
  /** The registry's clock, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Null: it was never sent. */
  readonly sentAgoMs: number | null;
  /** How long the host may take to answer a call about this capability. */
  readonly timeoutMs: number;
  /** False: no request of this route ever left, so a host that cannot be sealed gets none either. */
  readonly mayBeOnTheWire: boolean;
  /** The approval under which it may be sent; null: it needs none, or has none. */
  readonly approval: string | null;
}

export type BeginRepin = RepinSeal | RepinRefused | { readonly kind: 'already' | 'unknown_action' };

/** What became of an operator's wish; `already`: the route was taken back before, nothing is reserved. */
export type RepinAnswer =
  | { readonly kind: 'repinned' | 'already' | 'unknown_action' }
  | (RepinRefused & { readonly detail: string });

export type ConcludeRepin =
  RepinRefused | { readonly kind: 'repinned' | 'already' | 'unknown_action' };
