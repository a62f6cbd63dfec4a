/** Rounds of the test with everything at once: two tenants, three hosts, sweeps and publications. */
import fc from 'fast-check';
import type { Settlement } from '../../../src/domain/routes';

export const TENANTS = ['acme', 'globex'] as const;
export const ACTIONS = ['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'] as const;
export const HOSTS = ['acme-1', 'acme-2', 'globex-1'] as const;
export const SCOPES = [
  ...(['binding', 'instance', 'connector', 'tenantRetry', 'tenant', 'global'] as const),
];

interface At {
  readonly tenant: (typeof TENANTS)[number];
  readonly action: (typeof ACTIONS)[number];
}

export type Publication =
  | { readonly limits: Readonly<Partial<Record<(typeof SCOPES)[number], number>>> }
  | { readonly tenant: At['tenant']; readonly bound: boolean }
  | { readonly tenant: At['tenant']; readonly credential: 'active' | 'revoked' };

export type Step =
  | ({ readonly do: 'reserve'; readonly number: 'next' | 'same' | 'foreign' } & At)
  | ({
      readonly do: 'settle';
      readonly settlement: Settlement;
      readonly which: 'newest' | 'older';
      readonly twice: boolean;
    } & At)
  /** `age`: its reservation is over, as if time had passed. */
  | ({ readonly do: 'extend' | 'clearUp' | 'age' | 'move' } & At)
  | {
      readonly do: 'host';
      readonly host: (typeof HOSTS)[number];
      readonly what: 'register' | 'heartbeat' | 'unhealthy' | 'drain' | 'offline' | 'silent';
    }
  | { readonly do: 'sweep' }
  | { readonly do: 'publish'; readonly what: Publication };

const doing = <Name extends string>(name: Name) => fc.constant(name);
const tenant = fc.constantFrom(...TENANTS);
const at = { tenant, action: fc.constantFrom(...ACTIONS) };
const settlement = fc.constantFrom<Settlement>(
  ...(['not_started', 'not_started', 'outcome_unknown', 'completed', 'cancelled'] as const),
);
const limit = fc.integer({ min: 1, max: 5 });
const publication = fc.oneof(
  fc
    .record(Object.fromEntries(SCOPES.map((scope) => [scope, limit])))
    .map((limits) => ({ limits })),
  fc.record({ tenant, bound: fc.boolean() }),
  fc.record({ tenant, credential: fc.constantFrom('active', 'active', 'revoked') }),
) as fc.Arbitrary<Publication>;

const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      ...{ do: doing('reserve'), ...at },
      number: fc.constantFrom('next', 'next', 'next', 'same', 'foreign'),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      ...{ do: doing('settle'), ...at, settlement, twice: fc.boolean() },
      which: fc.constantFrom('newest', 'newest', 'newest', 'older'),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('extend', 'clearUp', 'clearUp', 'age', 'move'),
      ...at,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ do: doing('host'), host: fc.constantFrom(...HOSTS) },
      what: fc.constantFrom(
        ...(['register', 'heartbeat', 'heartbeat', 'heartbeat', 'unhealthy'] as const),
        ...(['drain', 'offline', 'silent'] as const),
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: doing('sweep') }) },
  { weight: 2, arbitrary: fc.record({ do: doing('publish'), what: publication }) },
) as fc.Arbitrary<Step>;

/** All steps of a round are made at once. */
export const rounds = fc.array(fc.array(step, { minLength: 3, maxLength: 8, size: 'max' }), {
  ...{ minLength: 15, maxLength: 30, size: 'max' as const },
});
