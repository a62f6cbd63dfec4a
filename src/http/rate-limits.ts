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

export type CallLimits = readonly Policy[];

/** Shared by all parts of a server. */
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
    const principal = principalOf(request);
    const counted: Counted[] = [];
    for (const policy of limits) {
      const one = await count(policy, principal);
      counted.push(one);
      // Who is over alone does not use up what the others have together.
      if (one.over) break;
    }
    const headers = {
      'ratelimit-policy': policies,
      ratelimit: counted
        .map(({ policy, remaining, resetS }) => `"${policy.name}";r=${remaining};t=${resetS}`)
        .join(', '),
    };
    const over = counted.find((one) => one.over);
    if (over === undefined) {
      void reply.headers(headers);
      return;
    }
    const { name, quota } = over.policy;
    throw new HttpProblem('rate_limited', `The ${name} may make ${quota} calls a minute.`, {
      headers: { ...headers, 'retry-after': String(over.resetS) },
    });
  });
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
