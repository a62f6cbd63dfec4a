/**
 * The sweep of the fleet in a real Postgres: one process at a time, oldest first, bounded, and not
 * stopped by what it cannot end. Time passes by moving the stored instants.
 */
import pino from 'pino';
import { Client } from 'pg';
import { leaveSweepTurn, takeSweepTurn } from '../../../src/db/replicas';
import { sweepRound } from '../../../src/workers/loops/sweep';
import { Rig } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let db: TestDatabase;
let rig: Rig;
let lines: { readonly msg: string; readonly offline?: number; readonly settled?: number }[];

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account();
  lines = [];
});
afterEach(() => db.drop());

const operations = () => db.as('waybill_operations');
const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as { msg: string }) });
/** Without a pause after it. */
const round = async () => {
  const more = await sweepRound({ operations: operations(), log, random: () => 0 });
  await leaveSweepTurn(operations(), 0);
  return more;
};
const open = async () => (await rig.registry.fleet.status()).openAttempts;

test('a silent host goes offline, what it held is ended, and the log says so', async () => {
  await rig.host({ replica: 'h1' });
  await rig.reserved('a1', { holdMs: 100_000 });
  await round();
  expect(lines).toEqual([]);
  await rig.fixture.elapse(31_000);
  expect(await round()).toBe(false);
  expect(lines).toMatchObject([{ msg: 'swept the fleet', offline: 1, settled: 1 }]);
  expect(await rig.registry.reader.replica('h1')).toMatchObject({ status: 'offline' });
  expect(await open()).toBe(0);
});

test('of many processes one sweeps; the next may once its turn is over', async () => {
  const asked = Array.from({ length: 8 }, () => takeSweepTurn(operations(), 60_000));
  const taken = await Promise.all(asked);
  expect(taken.filter((mine) => mine)).toHaveLength(1);
  expect(await sweepRound({ operations: operations(), log, random: () => 0 })).toBe(false);
  await db.rows(`update waybill.sweep_turn set free_at = free_at - interval '1 minute'`);
  expect(await takeSweepTurn(operations(), 60_000)).toBe(true);
});

test('after a round there is a pause, for every process', async () => {
  await sweepRound({ operations: operations(), log, random: () => 1 });
  expect(await takeSweepTurn(operations(), 1)).toBe(false);
  const [turn] = await db.rows<{ ms: number }>(
    `select (extract(epoch from free_at - clock_timestamp()) * 1000)::float8 as ms
      from waybill.sweep_turn`,
  );
  expect(turn?.ms).toBeGreaterThan(0);
  expect(turn?.ms).toBeLessThanOrEqual(1_200);
});

test('the longest overdue are ended first', async () => {
  await rig.host({ replica: 'h1' });
  for (const [action, holdMs] of [
    ['late', 9_000],
    ['later', 5_000],
    ['latest', 1_000],
  ] as const) {
    await rig.reserved(action, { holdMs });
  }
  await rig.fixture.elapse(10_000);
  const { fleet } = rig.registry;
  const states = () => Promise.all(['latest', 'later', 'late'].map((id) => rig.stateOf(id)));
  await fleet.sweep(1);
  expect(await states()).toEqual(['unknown', 'reserved', 'reserved']);
  await fleet.sweep(1);
  expect(await states()).toEqual(['unknown', 'unknown', 'reserved']);
});

test('an action that somebody holds does not keep the others', async () => {
  await rig.host({ replica: 'h1' });
  for (const action of ['held', 'free']) await rig.reserved(action, { holdMs: 1_000 });
  await rig.fixture.elapse(2_000);
  const holder = new Client({ connectionString: db.url });
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query(`select from waybill.actions where action_id = 'held' for update`);
    expect(await round()).toBe(false);
    expect(lines).toMatchObject([{ settled: 1 }]);
    expect(await rig.stateOf('held')).toBe('reserved');
    expect(await rig.stateOf('free')).toBe('unknown');
  } finally {
    await holder.end();
  }
  await round();
  expect(await open()).toBe(0);
});
