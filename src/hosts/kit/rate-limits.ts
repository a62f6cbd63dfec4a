/** A provider that wants to be left alone, as its host tells it. */
import type { RefusedAnswer } from '../../domain/host-protocol';
import { MAX_RETRY_AFTER_MS } from '../../domain/routes';
import { RateLimited } from './connector';

/** A refusal without the fence that is stored by then. */
export type PutOff = Omit<RefusedAnswer, 'highest_fence'>;

/** What a connector threw before any effect; throws everything else on. */
export function limitOf(error: unknown): PutOff {
  if (!(error instanceof RateLimited)) throw error;
  const waitMs = Number.isFinite(error.retryAfterMs) ? error.retryAfterMs : MAX_RETRY_AFTER_MS;
  const retryAfterMs = Math.min(MAX_RETRY_AFTER_MS, Math.max(0, Math.ceil(waitMs)));
  return {
    kind: 'refused',
    refusal: 'rate_limited',
    started: false,
    retry_after_ms: retryAfterMs,
  };
}
