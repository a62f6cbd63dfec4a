/**
 * Whether what several connections did at once is what memory does one after the other. All states of
 * memory that some order explains are kept: which of them Postgres is in may show only later.
 */
import { types } from 'node:util';
import { emptyState, type RegistryState } from '../../../src/memory/state';
import { canonicalJson } from '../../../src/schemas/canonical-json';
import { imbalance } from '../../support/recount';
import { createTestDatabase, testPool, type TestDatabase } from '../../support/test-database';
import { Rig, type RegistryFixture } from '../fixture';
import { memoryFixtureOver } from '../memory-fixture';
import { postgresFixture } from '../postgres-fixture';
import type { Bound, Side } from './order-sides';
import {
  bind,
  CONTENDED,
  memoryFigures,
  memorySide,
  postgresFigures,
  postgresSide,
  take,
} from './order-sides';
import { ACTIONS, LIMITS, type Call, type Round } from './order-steps';

/** Longer than any reservation, lease or circuit holds, none of which ends within a test by itself. */
const EXPIRE_MS = 60_000;
/** States of memory that are kept apart. */
const MOST_STATES = 32;

/** Plays the rounds; fails at the first one that no order explains. */
export async function orderly(rounds: readonly Round[]): Promise<void> {
  const db = await createTestDatabase();
  const data = testPool(db.url, 'waybill_data', { maxConnections: 4 });
  try {
    const clock = { nowMs: Date.parse('2026-01-01T00:00:00Z') };
    const state = emptyState(() => clock.nowMs);
    for (const fixture of [memoryFixtureOver(state, clock), postgresFixture(db)]) {
      await prepare(new Rig(fixture));
    }
    const postgres = postgresSide(db, data);
    let states = [state];
    for (const [nth, round] of rounds.entries()) {
      if (typeof round === 'string') await alone(round, db, { states, clock });
      else states = await atOnce(nth, round, { db, postgres, states });
      states = await agreeing(states, await postgresFigures(db), { nth, round });
      expect(await imbalance(db)).toEqual([]);
    }
  } finally {
    await data.close();
    await db.drop();
  }
}

async function prepare(rig: Rig): Promise<void> {
  await rig.account({ quota: 'some' });
  await rig.fixture.change({ quota: { id: 'some', limits: LIMITS } });
  const settings = { circuitUnknowns: 2, circuitOpenMs: 45_000, circuitProbes: 1 };
  await rig.fixture.change({
    settings: { ...settings, replicaHysteresis: 2, replicaLeaseMs: 50_000 },
  });
  await rig.host({ replica: 'h1', capacity: 3 });
  for (const action of ACTIONS) await rig.start(action);
}

/** Everything ends and is swept, or the host comes back: the same in every state. */
async function alone(
  what: 'expire' | 'revive',
  db: TestDatabase,
  memory: { readonly states: readonly RegistryState[]; readonly clock: { nowMs: number } },
): Promise<void> {
  const fixtures: readonly RegistryFixture[] = [
    postgresFixture(db),
    ...memory.states.map((state) => memoryFixtureOver(state, { nowMs: 0 })),
  ];
  if (what === 'expire') {
    await fixtures[0]?.elapse(EXPIRE_MS);
    memory.clock.nowMs += EXPIRE_MS;
  }
  for (const fixture of fixtures) {
    const rig = new Rig(fixture);
    if (what === 'expire') {
      await rig.registry.fleet.sweep(100);
    } else {
      await rig.call('h1', 'register');
      await rig.call('h1', 'heartbeat');
    }
  }
}

/** The states that have these figures. */
async function agreeing(
  states: readonly RegistryState[],
  figures: unknown,
  after: { readonly nth: number; readonly round: Round },
): Promise<RegistryState[]> {
  const known = await Promise.all(states.map(memoryFigures));
  const agree = states.filter((_, index) => alike(known[index], figures));
  if (agree.length === 0) {
    throw new Error(`no order leaves this: ${JSON.stringify({ after, figures, known })}`);
  }
  return agree;
}

async function atOnce(
  nth: number,
  round: readonly Call[],
  at: {
    readonly db: TestDatabase;
    readonly postgres: Side;
    readonly states: readonly RegistryState[];
  },
): Promise<RegistryState[]> {
  const bound = await bind(at.db, nth, round);
  const answers = await Promise.all(bound.map((one) => take(at.postgres, one)));
  const done = bound
    .map((one, index) => ({ bound: one, answer: answers[index] }))
    .filter(({ answer }) => !alike(answer, CONTENDED));
  const found = new Map<string, RegistryState>();
  for (const state of at.states) await explain(state, done, found);
  if (found.size === 0) {
    const seen = done.map(({ bound: one, answer }) => ({ ...one, answer }));
    throw new Error(`no order explains round ${nth}: ${JSON.stringify(seen, null, 1)}`);
  }
  return [...found.values()].slice(0, MOST_STATES);
}

type Done = readonly { readonly bound: Bound; readonly answer: unknown }[];

/** Adds the states to which an order of these calls leads that gives the same answers. */
async function explain(
  state: RegistryState,
  rest: Done,
  found: Map<string, RegistryState>,
): Promise<void> {
  if (rest.length === 0) {
    found.set(fingerprint(state), state);
    return;
  }
  for (const [index, { bound, answer }] of rest.entries()) {
    const next = copyOf(state);
    if (!alike(await take(memorySide(next), bound), answer)) continue;
    await explain(next, rest.toSpliced(index, 1), found);
  }
}

function copyOf(state: RegistryState): RegistryState {
  const { nowMs, ...rest } = state;
  return { ...structuredClone(rest), nowMs };
}

/** Of values that came from different sides; both are plain JSON. */
function alike(one: unknown, other: unknown): boolean {
  return canonicalJson(one) === canonicalJson(other);
}

function fingerprint(state: RegistryState): string {
  return JSON.stringify(state, (_key, value: unknown): unknown =>
    types.isMap(value) ? [...value].sort(([one], [other]) => byText(one, other)) : value,
  );
}

const byText = (one: unknown, other: unknown) => (String(one) < String(other) ? -1 : 1);
