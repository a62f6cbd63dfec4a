/** Quota counters and the rate limit: what is refused takes nothing. */
import type { QuotaScope, ReserveAnswer } from '../domain/routes';
import { MAX_RETRY_AFTER_MS } from '../domain/routes';
import type { Bound } from './bindings';
import type { HeldCounter, RegistryState } from './state';
import { keyOf } from './state';

/** From the narrowest to the widest. */
const SCOPES: readonly QuotaScope[] = [
  ...(['binding', 'instance', 'connector', 'tenant_retry', 'tenant', 'global'] as const),
];

export type Taken =
  | { readonly kind: 'taken'; readonly counters: readonly HeldCounter[] }
  | Extract<ReserveAnswer, { kind: 'capacity_exceeded' | 'rate_limited' }>;

/** Takes every scope that is on, then the rate; or nothing at all. */
export function takeQuotas(state: RegistryState, bound: Bound, isRetry: boolean): Taken {
  const limits = state.quotas.get(bound.quotaPolicyId ?? '') ?? {};
  const counters: HeldCounter[] = [];
  for (const scope of SCOPES) {
    const limit = limits[scope];
    if (limit === undefined || (scope === 'tenant_retry' && !isRetry)) continue;
    const counter = { scope, key: counterKey(scope, bound) };
    const { held, drainMs } = counterOf(state, counter);
    if (held >= limit) {
      const wait = (drainMs ?? 500) * (held - limit + 1);
      const retryInMs = Math.round(Math.min(30_000, Math.max(50, wait)));
      return { kind: 'capacity_exceeded', scope, retryInMs };
    }
    counters.push(counter);
  }
  const waitMs = takeRate(state, bound);
  if (waitMs > 0) {
    return { kind: 'rate_limited', instanceId: bound.instanceId, retryInMs: Math.ceil(waitMs) };
  }
  for (const counter of counters) counterOf(state, counter).held += 1;
  return { kind: 'taken', counters };
}

/** Gives back exactly what an attempt took; no policy is read. */
export function releaseQuotas(state: RegistryState, counters: readonly HeldCounter[]): void {
  const now = state.nowMs();
  for (const held of counters) {
    const counter = counterOf(state, held);
    counter.held -= 1;
    if (counter.releasedAt !== null) {
      const passed = Math.min(30_000, now - counter.releasedAt);
      counter.drainMs = 0.8 * (counter.drainMs ?? 500) + 0.2 * passed;
    }
    counter.releasedAt = now;
  }
}

/** GCRA, and nothing in a pause; answers how long to wait, 0 when the reservation was let through. */
function takeRate(state: RegistryState, bound: Bound): number {
  const key = keyOf(bound.tenantId, bound.instanceId);
  const now = state.nowMs();
  const pauseMs = (state.rateHolds.get(key) ?? now) - now;
  if (bound.rateLimit === null) return Math.max(0, pauseMs);
  const { permits, perMs, burst } = bound.rateLimit;
  const each = perMs / permits;
  const known = state.rates.get(key) ?? { dueAt: now, eachMs: each };
  // As many ahead as by the rate before, at the pace of this one.
  const due = now + Math.max(0, ((known.dueAt - now) * each) / known.eachMs);
  const aheadMs = due - each * (burst - 1) - now;
  const waits = aheadMs > 0 || pauseMs > 0;
  state.rates.set(key, { dueAt: waits ? due : due + each, eachMs: each });
  return waits ? Math.max(1, aheadMs, pauseMs) : 0;
}

/** The provider wants to be left alone: nothing is reserved on the instance before, at most a day. */
export function holdRate(
  state: RegistryState,
  { tenantId, instanceId }: Pick<Bound, 'tenantId' | 'instanceId'>,
  retryAfterMs: number,
): void {
  const key = keyOf(tenantId, instanceId);
  const until = state.nowMs() + Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);
  state.rateHolds.set(key, Math.max(state.rateHolds.get(key) ?? until, until));
}

function counterKey(scope: QuotaScope, bound: Bound): string {
  switch (scope) {
    case 'binding':
      return `${bound.tenantId}/${bound.instanceId}/${bound.capabilityId}`;
    case 'instance':
      return `${bound.tenantId}/${bound.instanceId}`;
    case 'connector':
      return bound.connectorId;
    case 'tenant':
    case 'tenant_retry':
      return bound.tenantId;
    case 'global':
      return '*';
  }
}

function counterOf(state: RegistryState, { scope, key }: HeldCounter) {
  const id = keyOf(scope, key);
  const counter = state.counters.get(id) ?? { held: 0, releasedAt: null, drainMs: null };
  state.counters.set(id, counter);
  return counter;
}
