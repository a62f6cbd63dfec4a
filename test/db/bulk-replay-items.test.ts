/** What a bulk replay does with each delivery, and how it ends, in a real Postgres as waybill_data. */
import { concludeBulkReplay, settleBulkReplay } from '../../src/db/bulk-replays';
import { listReplayItems } from '../../src/db/bulk-replay-lists';
import { closeAttempt } from '../../src/db/deliveries';
import type { BulkReplayMove, BulkReplayRef } from '../../src/domain/bulk-replays';
import type { ReceiptRow } from '../../src/domain/receipts';
import {
  moveJob,
  ownTenant,
  plannedIds,
  plannedJob,
  replayedOne,
  replayOne,
  runningJob,
  storedJob,
} from '../support/bulk-replays';
import {
  ACKNOWLEDGED,
  failedDelivery,
  open,
  receipt,
  REFUSED,
  storedDelivery,
} from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const SETTLE = { batch: 100, stopAfter: 25 };

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const somebody = (subscription?: string) => ownTenant(db, subscription);
const data = () => db.as('waybill_data');
const one = (ref: BulkReplayRef, position: number, signed: ReceiptRow | null) =>
  replayOne(db, ref, position, signed);
const settle = async (ref: BulkReplayRef, bounds = SETTLE) => {
  const answer = await settleBulkReplay(data(), ref, bounds);
  if (answer.answer !== 'progress') throw new Error('there is no such job');
  return answer.progress;
};
const move = (ref: BulkReplayRef, name: BulkReplayMove) => moveJob(db, ref, name);

describe('a planned delivery', () => {
  test('is replayed once, by who let the job run, and counted when it has ended', async () => {
    const { job, ref } = await replayedOne(db, 'acknowledged');
    expect(await one(job, 1, null)).toEqual({ answer: 'done' });
    expect(await storedJob(db, job)).toMatchObject({ replayed: 1, open: 1, acknowledged: 0 });
    expect(await settle(job)).toMatchObject({ acknowledged: 1, failedAgain: 0, open: 0, left: 0 });
    expect(await settle(job)).toMatchObject({ acknowledged: 1 });
    const audit = await db.rows(
      `select actor, detail->>'reason' as reason from waybill.audit_log where subject = $1`,
      [`delivery/${ref.deliveryId}`],
    );
    expect(audit).toEqual([{ actor: 'bob', reason: 'target repaired' }]);
  });

  test('that failed again is counted so, and its next plan holds it anew', async () => {
    const { job, acme, ref } = await replayedOne(db, 'failed');
    expect(await settle(job)).toMatchObject({ acknowledged: 0, failedAgain: 1, open: 0 });
    expect(await plannedIds(db, await plannedJob(db, acme))).toEqual([ref.deliveryId]);
    const limit = { outcome: 'failed_again', after: 0, limit: 10 } as const;
    expect(await listReplayItems(data(), { ...job, ...limit })).toMatchObject([
      { position: 1, deliveryId: ref.deliveryId, outcome: 'failed_again', series: 2 },
    ]);
  });

  test('is skipped with why where it is not what was planned any more', async () => {
    const acme = await somebody();
    const made = [];
    for (let n = 0; n < 4; n += 1) made.push(await failedDelivery(db, acme));
    const job = await plannedJob(db, acme);
    const elsewhere = await runningJob(db, acme);
    for (const position of [1, 2, 3]) {
      const signed = receipt('replayed', made[position - 1]?.last);
      expect(await one(elsewhere, position, signed)).toMatchObject({ answer: 'replayed' });
      if (position === 3) continue;
      const ref = made[position - 1]?.ref;
      if (ref === undefined) throw new Error('it is not there');
      const close = position === 1 ? ACKNOWLEDGED : REFUSED;
      const { attempt } = (await open(db, ref)).info;
      await closeAttempt(data(), { ...ref, attempt }, close, receipt('closed', signed));
    }
    await db.rows('delete from waybill.delivery_attempts where delivery_id = $1', [
      made[3]?.ref.deliveryId,
    ]);
    await db.rows('delete from waybill.deliveries where delivery_id = $1', [
      made[3]?.ref.deliveryId,
    ]);
    await move(job, 'run');
    const answers = [];
    for (const position of [1, 2, 3, 4]) answers.push(await one(job, position, null));
    expect(answers.map((answer) => ('why' in answer ? answer.why : answer.answer))).toEqual([
      ...['acknowledged', 'failed_anew', 'under_way', 'removed'],
    ]);
    expect(await storedJob(db, job)).toMatchObject({
      ...{ replayed: 0, left: 0 },
      skipped: { acknowledged: 1, failed_anew: 1, under_way: 1, removed: 1 },
    });
  });

  test('stays as it is while its job does not run', async () => {
    const acme = await somebody();
    const { ref, last } = await failedDelivery(db, acme);
    const job = await runningJob(db, acme);
    await move(job, 'pause');
    const signed = receipt('replayed', last);
    expect(await one(job, 1, signed)).toEqual({ answer: 'not_running' });
    expect(await storedDelivery(db, ref)).toMatchObject({ state: 'Failed', series: 1 });
    expect(await one(job, 1, receipt('replayed'))).toEqual({ answer: 'not_running' });
    await move(job, 'resume');
    expect(await one(job, 1, receipt('replayed'))).toMatchObject({ answer: 'chain_moved' });
    expect(await one(job, 1, signed)).toMatchObject({ answer: 'replayed' });
  });
});

describe('a job', () => {
  test('pauses itself when what it replays fails again, and goes on when somebody says so', async () => {
    const { job, acme } = await replayedOne(db, 'failed');
    await settle(job);
    const { last } = await failedDelivery(db, acme);
    const [id] = await plannedIds(db, job);
    const next = await runningJob(db, acme);
    expect(await plannedIds(db, next)).toContain(id);
    await db.rows(`update waybill.replay_jobs set failures_in_a_row = 2 where job_id = $1`, [
      next.jobId,
    ]);
    expect(await settle(next, { batch: 10, stopAfter: 2 })).toMatchObject({
      ...{ state: 'paused', movedBy: 'waybill' },
      movedWhy: 'the last 2 replayed deliveries failed again',
    });
    expect(last.kind).toBe('failed');
    await move(next, 'resume');
    expect(await settle(next, { batch: 10, stopAfter: 2 })).toMatchObject({ state: 'running' });
  });

  test('ends once, with the statement of what it has come to then', async () => {
    const { job } = await replayedOne(db, 'acknowledged');
    const before = { acknowledged: 0, open: 1 };
    expect(await concludeBulkReplay(data(), job, before, 'jws')).toMatchObject({
      answer: 'progress',
    });
    await settle(job);
    expect(await concludeBulkReplay(data(), job, before, 'jws')).toMatchObject({
      answer: 'progress',
    });
    const after = { acknowledged: 1, open: 0 };
    const both = await Promise.all(
      ['one', 'two'].map((jws) => concludeBulkReplay(data(), job, after, jws)),
    );
    expect(both.map(({ answer }) => answer)).toEqual(['concluded', 'concluded']);
    const found = await storedJob(db, job);
    expect(found.state).toBe('finished');
    expect(['one', 'two']).toContain(found.receipt);
    expect(await move(job, 'cancel')).toEqual({ answer: 'refused', state: 'finished' });
  });

  test('with something left, or under way within its watch, does not end', async () => {
    const acme = await somebody();
    await failedDelivery(db, acme);
    const job = await runningJob(db, acme);
    expect(await concludeBulkReplay(data(), job, {}, 'jws')).toMatchObject({ answer: 'progress' });
    await move(job, 'cancel');
    expect(await concludeBulkReplay(data(), job, { left: 1 }, 'jws')).toEqual({
      answer: 'concluded',
    });
    expect(await storedJob(db, job)).toMatchObject({ state: 'cancelled', left: 1 });
  });
});
