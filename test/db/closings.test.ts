/**
 * Groups of closings that meet at the same rows, in a real Postgres as waybill_data. An administrator's lock
 * makes them meet. Doubled: nothing.
 */
import { claimExpress } from '../../src/db/express-deliveries';
import { closeAttempts, closingStatements, type ClosingAttempt } from '../../src/db/closings';
import { closeAttempt, type AttemptClose } from '../../src/db/deliveries';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import { insertCatalog } from '../support/catalog-fixture';
import { ACKNOWLEDGED, receipt, receive, REFUSED, retryIn } from '../support/stored-deliveries';
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

const claim = (limit: number, tenant = ACME) =>
  claimExpress(db.as('waybill_data'), tenant, {
    ...{ owner: 'loop', limit },
    onBroken: () => undefined,
  });

const waiting = (count = 2) =>
  until('they wait for a lock', async () => {
    const rows = await db.rows(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.length === count ? true : null;
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

test('what is pointed at another target meanwhile is held there, where that one is paused', async () => {
  const tenant = tenantId('movers');
  const at = { tenant, lane: 'express' } as const;
  const [one, other] = [
    await insertCatalog(db, { ...at, subscription: 'moved' }),
    await insertCatalog(db, { ...at, subscription: 'moved-too' }),
  ];
  await insertCatalog(db, { ...at, subscription: 'resting' });
  await db.rows(
    `insert into waybill.target_states (tenant_id, target_id, paused_at, paused_by, pause_reason)
      values ($1, 'resting-target', clock_timestamp(), 'ada', 'maintenance')`,
    [tenant],
  );
  for (const fixture of [one, other]) await receive(db, fixture);
  const holder = testPool(db.url, 'waybill_data');
  try {
    let claiming: ReturnType<typeof claim> | undefined;
    await holder.transaction(async (run) => {
      // The first subscription's attempt cannot be opened yet, and the second one's is to come.
      await run({ name: '', text: 'lock table waybill.delivery_attempts in share mode' }, []);
      claiming = claim(2, tenant);
      await waiting(1);
      await db.rows(
        `update waybill.subscriptions set target_id = 'resting-target' where subscription_id like 'moved%'`,
      );
    });
    const claimed = await claiming;
    expect(claimed?.map(({ opened }) => opened.answer).sort()).toEqual(['held', 'opened']);
  } finally {
    await holder.close();
  }
});

/** What each of them has left behind, without instants. */
const traces = (refs: readonly DeliveryRef[]) =>
  Promise.all(
    refs.map(async ({ deliveryId }) => {
      const [found] = await db.rows(
        `select d.state, d.version, d.driver, d.reason, d.detail, d.event_seq, d.receipt_seq,
            d.receipt_digest is not null as signed, d.attend_at is null as over, d.show_at is not null as unshown,
            a.outcome, a.status, a.duration_ms, a.late_evidence->>'outcome' as late,
            (select jsonb_agg(jsonb_build_array(e.topic, e.aggregate_seq,
                replace((e.payload - 'deliveryId' - 'subscriptionId')::text, d.delivery_id::text, 'ID')) order by e.aggregate_seq)
              from waybill.outbox_events e where e.aggregate = 'delivery/' || d.delivery_id) as events,
            (select jsonb_agg(r.kind) from waybill.receipts r
              where r.subject = 'delivery/' || d.delivery_id and r.digest = d.receipt_digest) as receipts
          from waybill.deliveries d join waybill.delivery_attempts a using (tenant_id, delivery_id)
          where d.delivery_id = $1`,
        [deliveryId],
      );
      return found;
    }),
  );

test('a group of every kind leaves behind what closing one by one does, and answers the same', async () => {
  const data = db.as('waybill_data');
  const moved = receipt('acknowledged', receipt('failed'));
  const courses: ((ref: DeliveryRef) => ClosingAttempt[])[] = [
    (ref) => [closing(ref, ACKNOWLEDGED, receipt('acknowledged'))],
    (ref) => [closing(ref, REFUSED, receipt('failed'))],
    (ref) => [closing(ref, retryIn(60_000), null)],
    (ref) => [closing(ref, ACKNOWLEDGED, moved)],
    (ref) => [closing({ ...ref, attempt: 7 }, ACKNOWLEDGED, receipt('acknowledged'))],
    // The same twice, as its caller may ask again; then somebody who comes too late.
    (ref) => {
      const twice = closing(ref, ACKNOWLEDGED, receipt('acknowledged'));
      return [twice, twice, closing(ref, REFUSED, receipt('failed'))];
    },
    // Of two that disagree the first one counts.
    (ref) => [closing(ref, retryIn(60_000), null), closing(ref, ACKNOWLEDGED, receipt('failed'))],
    (ref) => [closing(ref, ACKNOWLEDGED, receipt('acknowledged'))],
  ];
  const inFlight = async (subscription: string) => {
    const fixture = await insertCatalog(db, { tenant: ACME, subscription, lane: 'express' });
    const refs: DeliveryRef[] = [];
    while (refs.length < courses.length) refs.push(await receive(db, fixture));
    expect(await claim(courses.length)).toHaveLength(courses.length);
    return { refs, closings: refs.flatMap((ref, at) => courses[at]?.(ref) ?? []) };
  };
  const together = await inFlight('together');
  const alone = await inFlight('alone');
  const answers = await closeAttempts(data, ACME, together.closings);
  const oneByOne: unknown[] = [];
  for (const { at, close: as, receipt: signed } of alone.closings) {
    oneByOne.push(await closeAttempt(data, at, as, signed));
  }
  expect(answers.map(({ answer }) => answer)).toEqual(
    ['closed', 'closed', 'closed', 'chain_moved', 'unknown_attempt'].concat(
      ...[['closed', 'closed', 'fence_lost'], ['closed', 'fence_lost'], ['closed']],
    ),
  );
  expect(oneByOne).toMatchObject(answers.map(({ answer }) => ({ answer })));
  expect(await traces(together.refs)).toEqual(await traces(alone.refs));
});

test('a decision that nobody knows closes nothing', async () => {
  const fixture = await insertCatalog(db, { tenant: 'odd', subscription: 'odd', lane: 'express' });
  const ref = await receive(db, fixture);
  expect(await claim(1, ref.tenantId)).toHaveLength(1);
  const close = { ...retryIn(1_000), decision: 'sideways' } as unknown as AttemptClose;
  await expect(
    closeAttempts(db.as('waybill_data'), ref.tenantId, [closing(ref, close, null)]),
  ).rejects.toThrow(/case not found/);
  expect(await traces([ref])).toMatchObject([{ state: 'Dispatched', outcome: null }]);
});

function closing(
  ref: DeliveryRef & { readonly attempt?: number },
  as: AttemptClose,
  signed: ClosingAttempt['receipt'],
): ClosingAttempt {
  return { at: { attempt: 1, ...ref }, close: as, receipt: signed };
}
