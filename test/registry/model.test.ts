/**
 * Model-based: random sequences of operations give the same answers in memory and in a real Postgres,
 * and leave the same figures. One host, so that no tie between hosts has to be broken alike. A failing
 * sequence is replayed as `replaying` says.
 */
import fc from 'fast-check';
import { tenantId } from '../../src/domain/ids';
import type { Settlement } from '../../src/domain/routes';
import { createTestDatabase } from '../support/test-database';
import type { RegistryFixture } from './fixture';
import { Rig } from './fixture';
import { memoryFixture } from './memory-fixture';
import { postgresFixture } from './postgres-fixture';
import { REPLAY } from './replaying';

const ACTIONS = Array.from({ length: 10 }, (_, nth) => `a${nth}`);
const CALLS = ['heartbeat', 'unhealthy', 'drain', 'offline'] as const;

/** `newest`: the last attempt of the action; else an older one, or one that never was. */
type Which = 'newest' | 'older' | 'unheard';

type Step =
  | { readonly do: 'reserve'; readonly action: string; readonly number: 'next' | 'same' | 'first' }
  | {
      readonly do: 'settle';
      readonly action: string;
      readonly which: Which;
      readonly settlement: Settlement;
    }
  | { readonly do: 'extend' | 'record'; readonly action: string; readonly which: Which }
  | { readonly do: 'clearUp' | 'putOff' | 'move'; readonly action: string }
  | { readonly do: 'call'; readonly what: (typeof CALLS)[number] }
  | { readonly do: 'revive' | 'sweep' }
  | { readonly do: 'elapse'; readonly ms: number };

/** Each value as often as its weight says. */
const often = <Value>(...weighted: readonly (readonly [number, Value])[]) =>
  fc.oneof(...weighted.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));
const doing = <Name extends string>(name: Name) => fc.constant(name);

const action = fc.constantFrom(...ACTIONS);
const which = often<Which>([8, 'newest'], [1, 'older'], [1, 'unheard']);
const settlement = often<Settlement>(
  [4, 'outcome_unknown'],
  [3, 'not_started'],
  [3, 'completed'],
  [1, 'cancelled'],
  [1, 'lease_expired'],
);
const number = often<'next' | 'same' | 'first'>([8, 'next'], [2, 'same'], [1, 'first']);
const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: doing('reserve'), action, number }) },
  { weight: 10, arbitrary: fc.record({ do: doing('settle'), action, which, settlement }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('extend', 'record'), action, which }) },
  { weight: 5, arbitrary: fc.record({ do: doing('clearUp'), action }) },
  { weight: 1, arbitrary: fc.record({ do: doing('putOff'), action }) },
  { weight: 3, arbitrary: fc.record({ do: doing('move'), action }) },
  { weight: 2, arbitrary: fc.record({ do: doing('call'), what: fc.constantFrom(...CALLS) }) },
  { weight: 3, arbitrary: fc.record({ do: doing('revive') }) },
  // Far enough from every lease, deadline and circuit that the seconds of the test do not matter.
  { weight: 2, arbitrary: fc.record({ do: doing('elapse'), ms: fc.constantFrom(7_000, 14_000) }) },
  { weight: 1, arbitrary: fc.record({ do: doing('sweep') }) },
) as fc.Arbitrary<Step>;

/** A registry under test, with the fences it has given out. */
class Side {
  readonly rig: Rig;
  /** By action: the fence of each attempt, in order. */
  readonly #fences = new Map<string, number[]>();

  constructor(fixture: RegistryFixture) {
    this.rig = new Rig(fixture);
  }

  async prepare(): Promise<void> {
    await this.rig.account({ quota: 'some' });
    const limits = { binding: 3, tenant_retry: 1, connector: 3, tenant: 2 };
    await this.rig.fixture.change({ quota: { id: 'some', limits } });
    const settings = { circuitUnknowns: 2, circuitOpenMs: 24_500, circuitProbes: 1 };
    await this.rig.fixture.change({
      settings: { ...settings, replicaHysteresis: 2, replicaLeaseMs: 31_500 },
    });
    await this.rig.host({ replica: 'h1', capacity: 3 });
  }

  /** The answer, without what depends on the clock. */
  async take(step: Step): Promise<unknown> {
    const { rig } = this;
    switch (step.do) {
      case 'reserve':
        return this.#reserve(step.action, step.number);
      case 'settle':
        return rig.settle(step.action, this.#fence(step), step.settlement);
      case 'extend':
        return (await rig.registry.resolver.extendReservation(this.#at(step), 17_500)).kind;
      case 'record': {
        const result = { outcome: 'succeeded', resultSha256: null, errorCode: null } as const;
        return rig.registry.resolver.recordResult(this.#at(step), result, {});
      }
      case 'clearUp':
        return rig.clearUp(step.action);
      case 'putOff':
        return this.#putOff(step.action);
      case 'move':
        return this.#move(step.action);
      case 'call':
        return this.#call(step.what);
      case 'revive':
        return [await this.#call('register'), await this.#call('heartbeat')];
      case 'elapse':
        return rig.fixture.elapse(step.ms);
      case 'sweep':
        return rig.registry.fleet.sweep(100);
    }
  }

  async figures(): Promise<unknown> {
    const states = await Promise.all(ACTIONS.map((name) => this.rig.stateOf(name)));
    const { registry, fixture } = this.rig;
    return { states, held: await fixture.held(), fleet: await registry.fleet.status() };
  }

  async #call(what: (typeof CALLS)[number] | 'register'): Promise<unknown> {
    const answer = await this.rig.call('h1', what);
    return answer.kind === 'accepted' ? { ...answer, leaseMs: 0 } : answer;
  }

  async #reserve(name: string, number: 'next' | 'same' | 'first'): Promise<unknown> {
    const known = this.#fences.get(name) ?? [];
    const last = Math.max(1, known.length);
    const attemptNo = { next: known.length + 1, same: last, first: 1 }[number];
    const answer = await this.rig.reserve(name, { attemptNo, holdMs: 17_500 });
    if (answer.kind === 'reserved') {
      const { fence, probe, incarnation, healthRevision } = answer.reservation;
      if (!known.includes(fence)) this.#fences.set(name, [...known, fence]);
      const order = this.#fences.get(name)?.indexOf(fence);
      return { kind: answer.kind, attemptNo, order, probe, incarnation, healthRevision };
    }
    if ('retryInMs' in answer) return { ...answer, retryInMs: 0 };
    return 'endsInMs' in answer ? { ...answer, endsInMs: 0 } : answer;
  }

  /** The provider wants a pause: not started, and nothing more for a while. */
  #putOff(name: string): Promise<unknown> {
    return this.rig.registry.resolver.settleRoute({
      ...this.#at({ action: name, which: 'newest' }),
      ...{ settlement: 'not_started', unknownCause: null, evidence: {}, retryAfterMs: 10_500 },
    });
  }

  async #move(name: string): Promise<unknown> {
    const { operator } = this.rig.registry;
    const at = { tenantId: tenantId('acme'), actionId: name };
    const begun = await operator.beginRepin(at, null);
    if (begun.kind !== 'seal') return begun;
    const wish = { by: 'ada', reason: 'a test' };
    return operator.concludeRepin({ ...at, fence: begun.fence }, wish, {});
  }

  #fence(step: { readonly action: string; readonly which: Which }): number {
    const known = this.#fences.get(step.action) ?? [];
    const fence = { newest: known.at(-1), older: known.at(-2), unheard: undefined }[step.which];
    return fence ?? 1;
  }

  #at(step: { readonly action: string; readonly which: Which }) {
    const actionId = step.action;
    return { tenantId: tenantId('acme'), actionId, fence: this.#fence(step) };
  }
}

test('memory and Postgres answer any sequence alike', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 60, maxLength: 120, size: 'max' }),
      async (steps) => {
        const memory = new Side(memoryFixture());
        const postgres = new Side(postgresFixture(await createTestDatabase()));
        try {
          for (const side of [memory, postgres]) await side.prepare();
          for (const [index, one] of steps.entries()) {
            const expected = await memory.take(one);
            expect([index, one, await postgres.take(one)]).toEqual([index, one, expected]);
          }
          expect(await postgres.figures()).toEqual(await memory.figures());
        } finally {
          await postgres.rig.fixture.close();
        }
      },
    ),
    // Shrinking would take longer than reading the sequence.
    { numRuns: 20, endOnFailure: true, ...REPLAY },
  );
});
