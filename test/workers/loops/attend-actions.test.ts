/**
 * When an open action is attended to again. Real: Postgres, the claim as waybill_operations. Doubled: Temporal,
 * which is there or is not. Asserted: when the row is due.
 */
import pino from 'pino';
import { attendActionsRound } from '../../../src/workers/loops/attend-actions';
import { Rig } from '../../registry/fixture';
import { postgresFixture } from '../../registry/postgres-fixture';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  const rig = new Rig(postgresFixture(db));
  await rig.account();
  await rig.start('one');
});
afterAll(() => db.drop());

/** How many seconds after a round it is due again. */
async function dueAfter(start: () => Promise<void>): Promise<number> {
  await db.rows('update waybill.actions set attend_at = clock_timestamp()');
  await attendActionsRound({
    operations: db.as('waybill_operations'),
    workflows: { ensure: start, nudge: start },
    log: pino({ level: 'silent' }),
  });
  const [row] = await db.rows<{ s: number }>(
    `select extract(epoch from attend_at - clock_timestamp())::float8 as s from waybill.actions`,
  );
  return row?.s ?? NaN;
}

test('one whose workflow was started is left to it for a minute', async () => {
  const s = await dueAfter(() => Promise.resolve());
  expect(s).toBeGreaterThan(50);
  expect(s).toBeLessThan(61);
});

test('one that could not be started is due again soon, so that it waits for Temporal and not for its claim', async () => {
  const s = await dueAfter(() => Promise.reject(new Error('Temporal is away')));
  expect(s).toBeGreaterThan(0);
  expect(s).toBeLessThan(6);
});

test('what its workflow has put off meanwhile stays so', async () => {
  const s = await dueAfter(async () => {
    await db.rows(`update waybill.actions set attend_at = clock_timestamp() + interval '1 hour'`);
    throw new Error('its answer was lost');
  });
  expect(s).toBeGreaterThan(3_000);
});
