/** What a call to a host came to. Nothing that a host can do makes the client throw. */
import type { HostOutcome, HostRefusal } from '../../domain/host-protocol';
import type { UnknownCause } from '../../domain/routes';

export type HostResult =
  | {
      readonly kind: 'answered';
      readonly outcome: HostOutcome;
      /** The host's memory: the next call about this action names it. */
      readonly storeEpoch: string;
    }
  | {
      readonly kind: 'refused';
      readonly refusal: HostRefusal;
      /** False is the host's signed word that nothing has begun. */
      readonly started: boolean;
      readonly highestFence: number | null;
      /** Of `rate_limited`: how long the provider wants to be left alone. Null otherwise. */
      readonly retryAfterMs: number | null;
      readonly storeEpoch: string;
    }
  /** No byte of the request reached the host. */
  | { readonly kind: 'not_sent'; readonly reason: NotSentReason; readonly detail: string }
  /** It may have reached the host, and no answer that can be believed came back. */
  | {
      readonly kind: 'lost';
      readonly cause: UnknownCause;
      readonly reason: LostReason;
      readonly detail: string;
    }
  /** The answer is good and comes from another memory than the one that was asked about. */
  | {
      readonly kind: 'lost';
      readonly cause: 'host';
      readonly reason: 'store_lost';
      readonly detail: string;
      /** That other memory: a reconcile that brings the request along may ask it to look. */
      readonly storeEpoch: string;
    };

export type NotSentReason =
  | 'connection_refused'
  /** No name, no route, no trusted certificate, no connection in time. */
  | 'connection_failed'
  /** The endpoint does not fit its transport profile. */
  | 'endpoint_refused'
  | 'request_too_large'
  /** Given up by us before it was sent. */
  | 'aborted';

export type LostReason =
  | 'timed_out'
  | 'connection_lost'
  /** Not signed at all, or by another key: also every redirect and every error page. */
  | 'wrong_signature'
  | 'wrong_reference'
  | 'answer_invalid'
  | 'answer_too_large'
  /** Given up by us: a shutdown, a cancel, a lost heartbeat. */
  | 'aborted';

/** Whether this is proof that nothing of the action has begun; then the attempt is `not_started`. */
export function provesNotStarted(result: HostResult): boolean {
  switch (result.kind) {
    case 'not_sent':
      return true;
    case 'refused':
      return !result.started;
    case 'answered':
      return result.outcome.kind === 'not_started';
    case 'lost':
      return false;
  }
}
