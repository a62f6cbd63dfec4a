/** What a case does to the deployment: data, so that a report can say it and a reader can repeat it. */
import { LANES, type Lane } from '../domain/lanes';
import type { ProcessName, WaybillName } from './site/topology';

/** The durable boundaries of an execution at a host; each a name of `src/points.ts`, like those below. */
export const HOST_BOUNDARIES = [
  'before_intent_persistence',
  'intent_persisted',
  'provider_effect_committed',
  'provider_response_received',
  'result_persisted',
] as const;
export type HostBoundary = (typeof HOST_BOUNDARIES)[number];

/** Of a worker: before it reserves, reserved, dispatched, answered, settled. */
export const WORKER_BOUNDARIES = [
  'reserve.begun',
  'reserve.done',
  'dispatch.opened',
  'dispatch.answered',
  'dispatch.closed',
] as const;

/** Of a gateway: an action is stored, its workflow is asked for; neither is answered yet. */
export const GATEWAY_BOUNDARIES = ['action.stored', 'action.started'] as const;

/**
 * Of a delivery: verified, accepted, its attempt open, its target's answer there, its attempt closed. Before the
 * attempt: in the durable lane its workflow is started; in the express lane the loop has claimed it. There it is
 * also handed over to a workflow, at last.
 */
export const DELIVERY_CRASHES = [
  { process: 'gateway-1', boundary: 'ingest.verified', lanes: LANES },
  { process: 'gateway-1', boundary: 'ingest.committed', lanes: LANES },
  { process: 'worker-1', boundary: 'attempt.begun', lanes: ['durable'] },
  { process: 'worker-1', boundary: 'express.claimed', lanes: ['express'] },
  { process: 'worker-1', boundary: 'attempt.opened', lanes: LANES },
  { process: 'worker-1', boundary: 'attempt.answered', lanes: LANES },
  { process: 'worker-1', boundary: 'attempt.closed', lanes: LANES },
  { process: 'worker-1', boundary: 'express.started', lanes: ['express'], targetStatus: 503 },
] as const;

export const BOUNDARIES = [
  ...HOST_BOUNDARIES,
  ...WORKER_BOUNDARIES,
  ...GATEWAY_BOUNDARIES,
  ...DELIVERY_CRASHES.map(({ boundary }) => boundary),
] as const;
export type Boundary = (typeof BOUNDARIES)[number];

/** Which lane the subscription that changes it has from now on. */
export const LANE_CHANGES = ['express-lane', 'durable-lane'] as const;
export type LaneChange = (typeof LANE_CHANGES)[number];

export type FleetChange =
  'revoke-credential' | 'restore-credential' | 'revoke-package' | LaneChange;

/** What the way between worker and host does with the next request to carry an action out. */
export const CONDUCTS = [
  'lose-answer',
  'cut-answer',
  'slow-answer',
  'late-request',
  'foreign-key',
] as const;
export type Conduct = (typeof CONDUCTS)[number];

export type Fault =
  /** One publication of the catalog. */
  | { readonly kind: 'publish'; readonly change: FleetChange }
  /** A tenant asks for a record of another one's account. */
  | { readonly kind: 'foreign-record'; readonly tenant: string; readonly account: string }
  /** An orderly end. */
  | { readonly kind: 'stop'; readonly process: ProcessName }
  /** SIGKILL. */
  | { readonly kind: 'kill'; readonly process: ProcessName }
  | { readonly kind: 'start'; readonly process: ProcessName }
  /** SIGSTOP: it stands still, with all that it holds; and SIGCONT. */
  | { readonly kind: 'freeze'; readonly process: ProcessName }
  | { readonly kind: 'wake'; readonly process: ProcessName }
  /** From now on the wall clock of this process alone is so far ahead. */
  | { readonly kind: 'clock'; readonly process: WaybillName; readonly aheadMs: number }
  /** SIGKILL where the process stands at the boundary, seen by its marker and by what is stored. */
  | {
      readonly kind: 'crash';
      readonly process: ProcessName;
      readonly boundary: Boundary;
      /** Of a delivery: one in each of these is at the boundary. */
      readonly lanes?: readonly Lane[];
      /** What the target answers until then; 200 where it is left out. */
      readonly targetStatus?: number;
    }
  | { readonly kind: 'link'; readonly conduct: Conduct }
  /** A token that a host has had is sent to a host once more. */
  | { readonly kind: 'token-replayed'; readonly to: ProcessName }
  /** What the target answers from now on; null: 200. */
  | { readonly kind: 'target'; readonly status: number | null }
  /** Nothing is done for so long. */
  | { readonly kind: 'away'; readonly seconds: number }
  /** Whether Postgres says that it has no room (SQLSTATE 53100) where a delivery is stored. */
  | { readonly kind: 'disk'; readonly full: boolean };
