/** What a case does to the deployment: data, so that a report can say it and a reader can repeat it. */
import type { ProcessName } from './site/topology';

/** The durable boundaries of an execution at a host; each a name of `src/points.ts`. */
export const CRASH_BOUNDARIES = [
  'before_intent_persistence',
  'intent_persisted',
  'provider_effect_committed',
  'provider_response_received',
  'result_persisted',
] as const;
export type CrashBoundary = (typeof CRASH_BOUNDARIES)[number];

export type FleetChange = 'revoke-credential' | 'restore-credential' | 'revoke-package';

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
  /** SIGKILL where the process stands at the boundary, seen by its marker and by what is stored. */
  | { readonly kind: 'crash'; readonly process: ProcessName; readonly boundary: CrashBoundary };
