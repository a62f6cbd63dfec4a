import type { HostCall } from '../../hosts/client';

/** How long a token of a fencing call is good beyond the call's own time-out. */
export const SLACK_MS = 5_000;

type Asked = Pick<
  HostCall,
  'route' | 'fence' | 'incarnation' | 'storeEpoch' | 'sentAgoMs' | 'approval'
> & {
  /** The database's clock, in milliseconds since the epoch. */
  readonly nowMs: number;
};

/** A call that fences an action off at its host: it begins nothing. */
export function fencingCall(asked: Asked, timeoutMs: number, signal: AbortSignal): HostCall {
  const { route, fence, incarnation, storeEpoch, sentAgoMs, approval, nowMs } = asked;
  return {
    ...{ route, fence, incarnation, storeEpoch, sentAgoMs, timeoutMs, signal },
    ...{ expiresAtMs: nowMs + timeoutMs + SLACK_MS, beginAnew: false, approval },
  };
}
