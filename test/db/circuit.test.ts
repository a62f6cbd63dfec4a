/**
 * The half-open circuit over several processes: real Postgres, each process a pool of its own, all at
 * once. Verdicts come from the rows.
 */
import type { Database } from '../../src/db/database';
import { actionTargetResolver } from '../../src/db/routes';
import { tenantId } from '../../src/domain/ids';
import type { Settlement } from '../../src/domain/routes';
import { ANYWHERE, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, testPool, type TestDatabase } from '../support/test-database';

const PROCESSES = 4;
let db: TestDatabase;
let rig: Rig;
let pools: readonly Database[];

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  pools = Array.from({ length: PROCESSES }, () =>
    testPool(db.url, 'waybill_data', { maxConnections: 8 }),
  );
  await rig.account();
  const settings = { circuitUnknowns: 2, circuitOpenMs: 60_000, circuitProbes: 3 };
  await rig.fixture.change({ settings: { ...settings, replicaLeaseMs: 600_000 } });
  await rig.host({ replica: 'h1', capacity: 100 });
});
afterEach(async () => {
  await Promise.all(pools.map((pool) => pool.close()));
  await db.drop();
});

const resolverOf = (nth: number) => {
  const pool = pools[nth % PROCESSES];
  if (pool === undefined) throw new Error('there is no such pool');
  return actionTargetResolver(pool, ANYWHERE);
};

/** Reserves all of them at once, each from another process than the one before. */
async function reserveAll(count: number, prefix: string) {
  const actions = Array.from({ length: count }, (_, nth) => `${prefix}${nth}`);
  await Promise.all(actions.map((action) => rig.start(action)));
  const answers = await Promise.all(
    actions.map((action, nth) => resolverOf(nth).reserveRoute(rig.request(action))),
  );
  return answers.flatMap((answer) => (answer.kind === 'reserved' ? [answer] : []));
}

type Reserved = Awaited<ReturnType<typeof reserveAll>>[number];

async function settleAll(
  reserved: readonly Reserved[],
  settlement: Settlement,
  unknownCause: 'host' | 'ours' | null = null,
): Promise<void> {
  await Promise.all(
    reserved.map(({ route, reservation }, nth) =>
      resolverOf(nth + 1).settleRoute({
        ...{ tenantId: tenantId('acme'), actionId: route.actionId, fence: reservation.fence },
        ...{ settlement, unknownCause, evidence: {} },
      }),
    ),
  );
}

async function halfOpen(): Promise<void> {
  for (const name of ['u1', 'u2']) await rig.run(name, 'outcome_unknown');
  await rig.fixture.elapse(60_000);
}

async function replica(): Promise<{ open: boolean; probes: number; active: number }> {
  const [row] = await db.rows<{ open: boolean; probes: number; active: number }>(
    `select circuit_open_until is not null as open, probes, active_assignments as active
      from waybill.replicas`,
  );
  if (row === undefined) throw new Error('there is no replica');
  return row;
}

test('all processes together admit no more probes than one may', async () => {
  await halfOpen();
  const probes = await reserveAll(24, 'p');
  expect(probes).toHaveLength(3);
  expect(probes.every(({ reservation }) => reservation.probe)).toBe(true);
  expect(await replica()).toEqual({ open: true, probes: 3, active: 3 });
  await settleAll(probes, 'cancelled');
  expect(await reserveAll(24, 'q')).toHaveLength(3);
});

test('one good probe closes it for all, and the places of the others come back', async () => {
  await halfOpen();
  const probes = await reserveAll(24, 'p');
  await settleAll(probes, 'completed');
  expect(await replica()).toEqual({ open: false, probes: 0, active: 0 });
  const after = await reserveAll(24, 'q');
  expect(after).toHaveLength(24);
  expect(after.some(({ reservation }) => reservation.probe)).toBe(false);
});

test('probes that fail at once open it once, and no place is lost', async () => {
  await halfOpen();
  await settleAll(await reserveAll(24, 'p'), 'outcome_unknown', 'host');
  expect(await replica()).toEqual({ open: true, probes: 0, active: 0 });
  expect(await reserveAll(4, 'q')).toEqual([]);
  await rig.fixture.elapse(60_000);
  expect(await reserveAll(4, 'r')).toHaveLength(3);
});

test('many lost workers at once open nothing', async () => {
  const reserved = await reserveAll(24, 'a');
  await settleAll(reserved.slice(0, 12), 'outcome_unknown', 'ours');
  await rig.fixture.elapse(21_000);
  const { fleet } = rig.registry;
  await Promise.all(pools.map(() => fleet.sweep(100)));
  expect(await replica()).toEqual({ open: false, probes: 0, active: 0 });
});
