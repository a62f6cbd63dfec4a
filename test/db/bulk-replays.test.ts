/** Bulk replays decided on the row, in a real Postgres as waybill_data. Doubled: the receipts' signatures. */
import { v7 as uuidv7 } from 'uuid';
import {
  concludeBulkReplay,
  createBulkReplay,
  dueReplays,
  planBulkReplay,
  settleBulkReplay,
} from '../../src/db/bulk-replays';
import type { BulkReplayMove, BulkReplayRef } from '../../src/domain/bulk-replays';
import {
  BULK_REPLAY_MOVES,
  BULK_REPLAY_STATES,
  BULK_REPLAY_TRANSITIONS,
} from '../../src/domain/bulk-replays';
import type { ReceiptRow } from '../../src/domain/receipts';
import { replayJobId, tenantId } from '../../src/domain/ids';
import {
  moveJob,
  newJob,
  ownTenant,
  plannedIds,
  plannedJob,
  replayedOne,
  replayOne,
  runningJob,
  storedJob,
  WISH,
} from '../support/bulk-replays';
import { insertCatalog } from '../support/catalog-fixture';
import { failedDelivery, receipt, receive } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const BOUNDS = { busy: 50, unsettled: 200 };
const SETTLE = { batch: 100, stopAfter: 25 };

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const somebody = (subscription?: string) => ownTenant(db, subscription);
const data = () => db.as('waybill_data');
const due = async (ref: BulkReplayRef, bounds = BOUNDS) => {
  const answer = await dueReplays(data(), ref, bounds);
  if (answer.answer !== 'due') throw new Error(`nothing is due: ${answer.answer}`);
  return answer;
};
const one = (ref: BulkReplayRef, position: number, signed: ReceiptRow | null) =>
  replayOne(db, ref, position, signed);
const move = (ref: BulkReplayRef, name: BulkReplayMove) => moveJob(db, ref, name);

describe('the states of a job', () => {
  test.each(BULK_REPLAY_STATES)('a job that is %s is moved as the table says', async (state) => {
    const acme = await somebody();
    for (const name of BULK_REPLAY_MOVES) {
      const ref = await newJob(db, acme);
      await db.rows(
        `update waybill.replay_jobs set state = $2,
          finished_at = case when $2 in ('cancelled', 'finished') then now() end where job_id = $1`,
        [ref.jobId, state],
      );
      const { from, to } = BULK_REPLAY_TRANSITIONS[name];
      const expected = from.includes(state) ? 'moved' : state === to ? 'already' : 'refused';
      expect([name, await move(ref, name)]).toEqual([
        name,
        { answer: expected, state: expected === 'moved' ? to : state },
      ]);
    }
  });

  test('two clicks at once are one move, with one line of audit', async () => {
    const ref = await plannedJob(db, await somebody());
    const both = await Promise.all([move(ref, 'run'), move(ref, 'run')]);
    expect(both.map(({ answer }) => answer).sort()).toEqual(['already', 'moved']);
    const audit = await db.rows(
      `select actor, action from waybill.audit_log where subject = $1 order by audit_id`,
      [`replay/${ref.jobId}`],
    );
    expect(audit).toEqual([
      { actor: 'ada', action: 'bulk-replay.plan' },
      { actor: 'ada', action: 'bulk-replay.run' },
    ]);
  });

  test('only so many of a tenant may be under way, however many ask at once', async () => {
    const { tenant } = await somebody();
    const ask = () => {
      const ref = { tenantId: tenantId(tenant), jobId: replayJobId(uuidv7()) };
      return createBulkReplay(data(), ref, WISH, 3);
    };
    const answers = await Promise.all(Array.from({ length: 6 }, ask));
    expect(answers.filter(({ answer }) => answer === 'planning')).toHaveLength(3);
    expect(answers.filter(({ answer }) => answer === 'too_many')).toHaveLength(3);
  });

  test('another tenant’s job is unknown to every step', async () => {
    const acme = await somebody();
    await failedDelivery(db, acme);
    const ref = { ...(await runningJob(db, acme)), tenantId: tenantId('rival') };
    const bounds = { batch: 10, most: 10 };
    const answers = [
      await planBulkReplay(data(), ref, bounds),
      await move(ref, 'cancel'),
      await settleBulkReplay(data(), ref, SETTLE),
      await dueReplays(data(), ref, BOUNDS),
      await one(ref, 1, null),
      await concludeBulkReplay(data(), ref, {}, 'jws'),
    ];
    expect(answers).toEqual(answers.map(() => ({ answer: 'unknown_job' })));
  });
});

describe('a plan', () => {
  test('holds what had failed when it was made, oldest first, in batches', async () => {
    const acme = await somebody();
    const failed = [];
    for (let n = 0; n < 5; n += 1) failed.push((await failedDelivery(db, acme)).ref.deliveryId);
    await receive(db, acme);
    const ref = await newJob(db, acme);
    // Received before, failed after: the next plan's.
    const late = await failedDelivery(db, acme);
    const answers = [];
    for (let n = 0; n < 4; n += 1) {
      answers.push((await planBulkReplay(data(), ref, { batch: 2, most: 100 })).answer);
    }
    expect(answers).toEqual(['planning', 'planning', 'planning', 'planned']);
    expect(await plannedIds(db, ref)).toEqual(failed);
    expect(await storedJob(db, ref)).toMatchObject({
      ...{ state: 'planned', planned: 5, truncated: false, left: 5, replayed: 0 },
      ...{ estimatedMs: 50, requestedBy: 'ada', receipt: null },
    });
    expect((await storedJob(db, ref)).sample.map(({ deliveryId }) => deliveryId)).toEqual(failed);
    expect(await planBulkReplay(data(), ref, { batch: 2, most: 100 })).toMatchObject({
      answer: 'moved',
    });
    expect(failed).not.toContain(late.ref.deliveryId);
  });

  test('ends at its bound, and says that more match', async () => {
    const acme = await somebody();
    for (let n = 0; n < 4; n += 1) await failedDelivery(db, acme);
    const ref = await newJob(db, acme);
    expect((await planBulkReplay(data(), ref, { batch: 10, most: 3 })).answer).toBe('planned');
    expect(await storedJob(db, ref)).toMatchObject({ planned: 3, truncated: true });
    expect(await plannedIds(db, ref)).toHaveLength(3);
  });

  test('takes what matches every filter', async () => {
    const acme = await somebody();
    const other = await insertCatalog(db, { tenant: acme.tenant, subscription: 'others' });
    const mine = await failedDelivery(db, acme);
    const theirs = await failedDelivery(db, other);
    await db.rows(
      `update waybill.deliveries set event_type = 'release', reason = 'timed_out',
        received_at = received_at - interval '1 day' where delivery_id = $1`,
      [theirs.ref.deliveryId],
    );
    const yesterday = new Date(Date.now() - 43_200_000).toISOString();
    const cases = [
      [{ subscription: 'others' }, [theirs]],
      [{ connector: 'github' }, [theirs, mine]],
      [{ connector: 'stripe' }, []],
      [{ eventType: 'release' }, [theirs]],
      [{ reason: 'status_refused' }, [mine]],
      [{ receivedFrom: yesterday }, [mine]],
      [{ receivedTo: yesterday }, [theirs]],
      [{ eventType: 'release', reason: 'status_refused' }, []],
    ] as const;
    for (const [filter, expected] of cases) {
      const ref = await plannedJob(db, acme, { filter });
      const ids = expected.map((found) => found.ref.deliveryId);
      expect([filter, await plannedIds(db, ref)]).toEqual([filter, ids]);
    }
  });
});

describe('the pace', () => {
  test('is that of the job, evenly, and one for all jobs of a target', async () => {
    const acme = await somebody();
    for (let n = 0; n < 8; n += 1) await failedDelivery(db, acme);
    const [first, second] = [
      await runningJob(db, acme, { ratePerSecond: 4 }),
      await runningJob(db, acme, { ratePerSecond: 4 }),
    ];
    const now = await due(first);
    expect(now.items.map(({ position }) => position)).toEqual([1]);
    expect(now.waitMs).toBeGreaterThan(200);
    expect(now.waitMs).toBeLessThanOrEqual(250);
    const other = await due(second);
    expect(other).toMatchObject({ items: [], full: [], held: [] });
    expect(other.waitMs).toBeGreaterThan(100);
  });

  test('is each target’s own', async () => {
    const acme = await somebody();
    const other = await insertCatalog(db, { tenant: acme.tenant, subscription: 'others' });
    for (const fixture of [acme, other, acme, other]) await failedDelivery(db, fixture);
    const ref = await runningJob(db, acme, { ratePerSecond: 1 });
    expect((await due(ref)).items.map(({ position }) => position).sort()).toEqual([1, 2]);
  });

  test('a paused subscription, or a target whose breaker is open, is given nothing', async () => {
    const acme = await somebody();
    await failedDelivery(db, acme);
    const ref = await runningJob(db, acme);
    const switched = (state: string) =>
      db.rows('update waybill.subscriptions set state = $2 where tenant_id = $1', [
        ...[acme.tenant, state],
      ]);
    await switched('paused');
    expect(await due(ref)).toMatchObject({ items: [], held: ['subscription/pushes'] });
    await switched('active');
    await db.rows(
      `insert into waybill.target_states (tenant_id, target_id, breaker, open_until)
        values ($1, 'pushes-target', 'open', now() + interval '1 hour')
        on conflict (tenant_id, target_id) do update set breaker = 'open',
          open_until = excluded.open_until`,
      [acme.tenant],
    );
    expect(await due(ref)).toMatchObject({ items: [], held: ['target/pushes-target'] });
    await db.rows('delete from waybill.target_states where tenant_id = $1', [acme.tenant]);
    expect((await due(ref)).items).toHaveLength(1);
  });

  test('a breaker whose time is over is given one as its probe, where nothing else waits to be it', async () => {
    const acme = await somebody();
    for (let nth = 0; nth < 3; nth += 1) await failedDelivery(db, acme);
    const ref = await runningJob(db, acme);
    await db.rows(
      `insert into waybill.target_states (tenant_id, target_id, breaker, open_until)
        values ($1, 'pushes-target', 'open', now() - interval '1 second')
        on conflict (tenant_id, target_id) do update set breaker = 'open',
          open_until = excluded.open_until`,
      [acme.tenant],
    );
    const waiting = await receive(db, acme);
    const gate = (name: string | null) =>
      db.rows(
        `update waybill.deliveries set gate = $2::text, gated_at = case when $2::text is not null then now() end
          where delivery_id = $1`,
        [waiting.deliveryId, name],
      );
    await gate('target/pushes-target');
    expect(await due(ref)).toMatchObject({ items: [], held: ['target/pushes-target'] });
    await gate(null);
    expect(await due(ref)).toMatchObject({ items: [{ position: 1 }], held: [] });
    expect(await due(ref)).toMatchObject({ items: [] });
    await db.rows(
      `update waybill.target_states set breaker = 'half_open', probe_until = now() + interval '1 minute'
        where tenant_id = $1`,
      [acme.tenant],
    );
    expect(await due(ref)).toMatchObject({ items: [], held: ['target/pushes-target'] });
  });

  test('a target that has enough to do is given no more until something has ended', async () => {
    const { job, acme } = await replayedOne(db, 'failed');
    const { last } = await failedDelivery(db, acme);
    const next = await runningJob(db, acme);
    await db.rows('update waybill.replay_paces set next_at = now()');
    const [id] = await plannedIds(db, next);
    expect(id).toBeDefined();
    const signed = await db.rows<{ digest: string; seq: number }>(
      `select receipt_digest as digest, receipt_seq as seq from waybill.deliveries
        where delivery_id = $1`,
      [id],
    );
    const [head] = signed;
    const previous = { ...last, digest: head?.digest ?? '', seq: head?.seq ?? 0 };
    expect(await one(next, 1, receipt('replayed', previous))).toMatchObject({ answer: 'replayed' });
    expect(await due(next, { busy: 1, unsettled: 200 })).toMatchObject({
      ...{ items: [], full: ['pushes-target'] },
    });
    expect(await due(next, { busy: 50, unsettled: 1 })).toMatchObject({ full: ['pushes-target'] });
    expect((await due(next, { busy: 2, unsettled: 2 })).items).toHaveLength(1);
    expect((await storedJob(db, job)).state).toBe('running');
  });
});
