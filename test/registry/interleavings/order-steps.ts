/** Rounds of the test that looks for an order: calls of one round are made at once. */
import fc from 'fast-check';
import type { Settlement } from '../../../src/domain/routes';
import type { CatalogChange } from '../fixture';

export const ACTIONS = ['a0', 'a1', 'a2', 'a3', 'a4', 'a5'] as const;

/** `newest`: the last attempt that the action had before the round; `older`: the one before it. */
export type Which = 'newest' | 'older' | 'unheard';

export type Call =
  | { readonly do: 'reserve'; readonly action: string; readonly number: 'next' | 'same' | 'first' }
  | {
      readonly do: 'settle';
      readonly action: string;
      readonly which: Which;
      readonly settlement: Settlement;
    }
  | { readonly do: 'extend'; readonly action: string; readonly which: Which }
  | { readonly do: 'move'; readonly action: string; readonly to: 'reconciling' | 'requested' }
  | { readonly do: 'host'; readonly what: 'heartbeat' | 'unhealthy' | 'drain' | 'register' }
  | { readonly do: 'publish'; readonly change: CatalogChange };

/** What is not one transaction stands alone. */
export type Round = readonly Call[] | 'expire' | 'revive';

export const LIMITS = { binding: 3, tenant_retry: 2, connector: 4, tenant: 2 } as const;

const doing = <Name extends string>(name: Name) => fc.constant(name);
const action = fc.constantFrom(...ACTIONS);
const which = fc.constantFrom<Which>('newest', 'newest', 'newest', 'newest', 'older', 'unheard');
const settlement = fc.constantFrom<Settlement>(
  ...(['not_started', 'not_started', 'outcome_unknown', 'completed', 'cancelled'] as const),
);
const number = fc.constantFrom('next', 'next', 'next', 'same', 'first');
const limits = (values: fc.Arbitrary<number>) =>
  values.map((tenant): CatalogChange => ({ quota: { id: 'some', limits: { ...LIMITS, tenant } } }));
const change = fc.oneof(
  limits(fc.integer({ min: 1, max: 4 })),
  fc.boolean().map((enabled): CatalogChange => ({ binding: { instance: 'main', enabled } })),
  fc
    .constantFrom('active', 'active', 'revoked')
    .map((status): CatalogChange => ({ credential: { instance: 'main', status } })),
);
const call = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: doing('reserve'), action, number }) },
  { weight: 9, arbitrary: fc.record({ do: doing('settle'), action, which, settlement }) },
  { weight: 2, arbitrary: fc.record({ do: doing('extend'), action, which }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: doing('move'),
      action,
      to: fc.constantFrom('reconciling', 'requested'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: doing('host'),
      what: fc.constantFrom('heartbeat', 'heartbeat', 'unhealthy', 'drain', 'register'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: doing('publish'), change }) },
) as fc.Arbitrary<Call>;

const round: fc.Arbitrary<Round> = fc.oneof(
  { weight: 12, arbitrary: fc.array(call, { minLength: 2, maxLength: 4, size: 'max' }) },
  { weight: 1, arbitrary: doing('expire') },
  { weight: 3, arbitrary: doing('revive') },
);

export const orderlyRounds = fc.array(round, { minLength: 15, maxLength: 30, size: 'max' });
