/**
 * How many calls a tenant and each of its subjects may make in a minute, as
 * draft-ietf-httpapi-ratelimit-headers tells it. Counted in the memory of each process.
 */
import type { FastifyInstance } from 'fastify';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { principalOf } from './authorization';
import { HttpProblem } from './problems';
import type { Principal } from './tokens';

/** Calls a minute. */
export interface CallRates {
  readonly perSubject: number;
  readonly perTenant: number;
}

export const DEFAULT_CALL_RATES: CallRates = { perSubject: 60_000, perTenant: 120_000 };

const WINDOW_S = 60;

interface Policy {
  readonly name: 'subject' | 'tenant';
  readonly quota: number;
  readonly limiter: RateLimiterMemory;
  readonly keyOf: (principal: Principal) => string;
}

interface Counted {
  readonly policy: Policy;
  readonly remaining: number;
  readonly resetS: number;
  readonly over: boolean;
}

interface CountedCall {
  readonly counted: readonly Counted[];
  readonly over: { readonly detail: string; readonly resetS: number } | null;
}

export type CallLimits = readonly Policy[];

/** Shared by all parts of a process, HTTP and gRPC alike. */
export function callLimits({ perSubject, perTenant }: CallRates): CallLimits {
  const policy = (name: Policy['name'], quota: number, keyOf: Policy['keyOf']): Policy => ({
    ...{ name, quota, keyOf },
    limiter: new RateLimiterMemory({ points: quota, duration: WINDOW_S }),
  });
  return [
    policy('subject', perSubject, ({ tenantId, subject }) => `${tenantId} ${subject}`),
    policy('tenant', perTenant, ({ tenantId }) => tenantId),
  ];
}

/** Counts the calls of the instance's routes; it must require tokens before. */
export function limitCalls(app: FastifyInstance, limits: CallLimits): void {
  const policies = limits.map(({ name, quota }) => `"${name}";q=${quota};w=${WINDOW_S}`).join(', ');
  app.addHook('onRequest', async (request, reply) => {
    const { counted, over } = await countCall(limits, principalOf(request));
    const headers = {
      'ratelimit-policy': policies,
      ratelimit: counted
        .map(({ policy, remaining, resetS }) => `"${policy.name}";r=${remaining};t=${resetS}`)
        .join(', '),
    };
    if (over === null) {
      void reply.headers(headers);
      return;
    }
    throw new HttpProblem('rate_limited', over.detail, {
      headers: { ...headers, 'retry-after': String(over.resetS) },
    });
  });
}

/** Counts one call of the principal, however it came; `over` says which limit it is beyond, if any. */
export async function countCall(limits: CallLimits, principal: Principal): Promise<CountedCall> {
  const counted: Counted[] = [];
  for (const policy of limits) {
    const one = await count(policy, principal);
    counted.push(one);
    // Who is over alone does not use up what the others have together.
    if (!one.over) continue;
    const { name, quota } = policy;
    const detail = `The ${name} may make ${quota} calls a minute.`;
    return { counted, over: { detail, resetS: one.resetS } };
  }
  return { counted, over: null };
}

async function count(policy: Policy, principal: Principal): Promise<Counted> {
  const { limiter, keyOf } = policy;
  const { result, over } = await limiter.consume(keyOf(principal)).then(
    (taken) => ({ result: taken, over: false }),
    (refusal: unknown) => {
      if (refusal instanceof RateLimiterRes) return { result: refusal, over: true };
      throw refusal;
    },
  );
  const resetS = Math.max(1, Math.ceil(result.msBeforeNext / 1000));
  return { policy, remaining: Math.max(0, result.remainingPoints), resetS, over };
}
