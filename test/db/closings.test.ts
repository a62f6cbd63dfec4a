/**
 * Groups of closings that meet at the same rows, in a real Postgres as waybill_data. An administrator's lock
 * makes them meet. Doubled: nothing.
 */
import { claimExpress } from '../../src/db/express-deliveries';
import { closingStatements } from '../../src/db/closings';
import type { AttemptClose } from '../../src/db/deliveries';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import { insertCatalog } from '../support/catalog-fixture';
import { receive, retryIn } from '../support/stored-deliveries';
import { createTestDatabase, testPool, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

const ACME = tenantId('acme');
const ROUNDS = 5;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const FAILING = retryIn(60_000);
const GONE: AttemptClose = { ...FAILING, pauseSubscription: true, reason: 'target_gone' };

/** How often the transaction had to be run for the group to be closed. */
async function close(refs: readonly DeliveryRef[], as: readonly AttemptClose[]): Promise<number> {
  let runs = 0;
  const items = refs.map(({ deliveryId }, at) => {
    return { deliveryId, attempt: 1, close: as[at], receipt: null };
  });
  await db.as('waybill_data').transaction(async (run) => {
    runs += 1;
    const [row] = await run(closingStatements.closeAll, [ACME, JSON.stringify(items)]);
    expect(row).toEqual({ answers: refs.map(() => ({ answer: 'closed' })) });
  });
  return runs;
}

const claim = (limit: number) =>
  claimExpress(db.as('waybill_data'), ACME, {
    ...{ owner: 'loop', limit },
    onBroken: () => undefined,
  });

const waiting = () =>
  until('both wait for a lock', async () => {
    const rows = await db.rows(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.length === 2 ? true : null;
  });

test.each([
  ['fail', FAILING],
  ['are gone', GONE],
])('groups at two targets that %s never wait for each other', async (name, as) => {
  const [one, other] = await Promise.all(
    ['x', 'y'].map((at) => {
      const subscription = `${at}-${name.replaceAll(' ', '-')}`;
      return insertCatalog(db, { tenant: ACME, subscription, lane: 'express' });
    }),
  );
  if (one === undefined || other === undefined) throw new Error('two were inserted');
  const targets = [one, other].map(({ subscription }) => `${subscription}-target`);
  await db.rows(
    `insert into waybill.target_states (tenant_id, target_id) select $1, unnest($2::text[])`,
    [ACME, targets],
  );
  const holder = testPool(db.url, 'waybill_data');
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      await db.rows(`update waybill.subscriptions set state = 'active', pause_reason = null`);
      const refs: DeliveryRef[] = [];
      for (const fixture of [one, other, other, one]) refs.push(await receive(db, fixture));
      expect(await claim(4)).toHaveLength(4);
      let closing: Promise<number[]> | undefined;
      await holder.transaction(async (run) => {
        const text = `select from waybill.target_states where target_id = any ($1) for update`;
        await run({ name: '', text: `select set_config('waybill.tenant', '${ACME}', true)` }, []);
        await run({ name: '', text }, [targets]);
        closing = Promise.all([close(refs.slice(0, 2), [as, as]), close(refs.slice(2), [as, as])]);
        await waiting();
      });
      expect(await closing).toEqual([1, 1]);
    }
  } finally {
    await holder.close();
  }
});

test('a probe that another one may be about to admit is not waited for', async () => {
  const fixture = await insertCatalog(db, {
    ...{ tenant: ACME, subscription: 'probed', lane: 'express', breakerFailures: 1 },
  });
  await db.rows(
    `insert into waybill.target_states (tenant_id, target_id, breaker, failures, opens, open_until)
      values ($1, 'probed-target', 'open', 1, 1, clock_timestamp())`,
    [ACME],
  );
  const holder = testPool(db.url, 'waybill_data');
  try {
    await receive(db, fixture);
    await holder.transaction(async (run) => {
      await run({ name: '', text: `select set_config('waybill.tenant', '${ACME}', true)` }, []);
      const text = `select from waybill.target_states where target_id = 'probed-target' for update`;
      await run({ name: '', text }, []);
      const held = { answer: 'held', info: { heldBy: 'breaker_open' } };
      expect(await claim(1)).toMatchObject([{ opened: held }]);
    });
    await receive(db, fixture);
    expect(await claim(1)).toMatchObject([{ opened: { answer: 'opened' } }]);
  } finally {
    await holder.close();
  }
});
