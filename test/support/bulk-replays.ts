/** Bulk replays at the level of the database. */
import { randomUUID } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { BulkReplayWish } from '../../src/db/bulk-replays';
import {
  createBulkReplay,
  moveBulkReplay,
  planBulkReplay,
  replayPlanned,
} from '../../src/db/bulk-replays';
import { showBulkReplay } from '../../src/db/bulk-replay-lists';
import { closeAttempt } from '../../src/db/deliveries';
import type { BulkReplayMove, BulkReplayRef } from '../../src/domain/bulk-replays';
import { replayJobId, tenantId } from '../../src/domain/ids';
import type { ReceiptRow } from '../../src/domain/receipts';
import type { BulkReplayDetailRow } from '../../src/schemas/api-bulk-replays';
import type { MoveReplayAnswer, ReplayPlannedAnswer } from '../../src/schemas/bulk-replay-rows';
import { insertCatalog, type CatalogFixture } from './catalog-fixture';
import { ACKNOWLEDGED, failedDelivery, open, receipt, REFUSED } from './stored-deliveries';
import type { TestDatabase } from './test-database';

export const WISH: BulkReplayWish = {
  filter: {},
  ratePerSecond: 100,
  by: 'ada',
  reason: 'target repaired',
};

/** A tenant of its own, so that no plan meets what another test has left. */
export function ownTenant(db: TestDatabase, subscription = 'pushes'): Promise<CatalogFixture> {
  return insertCatalog(db, { tenant: `tenant-${randomUUID()}`, subscription });
}

/** A job that is to be planned. */
export async function newJob(
  db: TestDatabase,
  { tenant }: Pick<CatalogFixture, 'tenant'>,
  wish: Partial<BulkReplayWish> = {},
): Promise<BulkReplayRef> {
  const ref = { tenantId: tenantId(tenant), jobId: replayJobId(uuidv7()) };
  const made = await createBulkReplay(db.as('waybill_data'), ref, { ...WISH, ...wish }, 1_000);
  if (made.answer !== 'planning') throw new Error(`the job was not made: ${made.answer}`);
  return ref;
}

/** A job whose plan is made. */
export async function plannedJob(
  db: TestDatabase,
  fixture: Pick<CatalogFixture, 'tenant'>,
  wish: Partial<BulkReplayWish> = {},
): Promise<BulkReplayRef> {
  const ref = await newJob(db, fixture, wish);
  for (;;) {
    const bounds = { batch: 1_000, most: 100_000 };
    const { answer } = await planBulkReplay(db.as('waybill_data'), ref, bounds);
    if (answer === 'planned') return ref;
  }
}

export async function runningJob(
  db: TestDatabase,
  fixture: Pick<CatalogFixture, 'tenant'>,
  wish: Partial<BulkReplayWish> = {},
): Promise<BulkReplayRef> {
  const ref = await plannedJob(db, fixture, wish);
  await moveBulkReplay(db.as('waybill_data'), { ...ref, move: 'run', by: 'bob', reason: null });
  return ref;
}

export async function storedJob(
  db: TestDatabase,
  ref: BulkReplayRef,
): Promise<BulkReplayDetailRow> {
  const found = await showBulkReplay(db.as('waybill_data'), ref);
  if (found === null) throw new Error('there is no such job');
  return found;
}

/** The ids that a job has planned, in their order. */
export async function plannedIds(db: TestDatabase, ref: BulkReplayRef): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(
    `select delivery_id as id from waybill.replay_items where tenant_id = $1 and job_id = $2
      order by position`,
    [ref.tenantId, ref.jobId],
  );
  return rows.map(({ id }) => id);
}

/**
 * Failed deliveries in one statement, a second apart, the last one now: what an incident leaves. Their
 * receipt is made up, and their workflows were never there.
 */
export async function failedInOneGo(
  db: TestDatabase,
  fixture: CatalogFixture,
  count: number,
): Promise<void> {
  const body = Buffer.from(`{"incident":"${randomUUID()}"}`);
  await db.rows('select waybill.keep_artifact($1, sha256($2), $2)', [fixture.tenant, body]);
  await db.rows('alter table waybill.deliveries disable trigger deliveries_birth');
  await db.rows(
    `with born as (
      insert into waybill.deliveries (tenant_id, delivery_id, version, direction, connector_id,
          instance_id, subscription_id, external_id, event_type, dedup_key, state, payload_sha256,
          payload_bytes, content_type, reason, detail, attempts, series_attempts, waiting_since,
          receipt_seq, receipt_digest, event_seq, received_at, settled_at, lane)
        select $1, gen_random_uuid(), 4, 'inbound', $2, 'main', $3, 'incident-' || n, 'push',
            gen_random_uuid()::text, 'Failed', sha256($4), length($4), 'application/json',
            'status_refused', 'the target answered 503', 1, 1, clock_timestamp(), 1,
            encode(sha256(n::text::bytea), 'hex'), 2,
            clock_timestamp() - make_interval(secs => $5 - n), clock_timestamp(), $6
          from generate_series(1, $5::integer) n
        returning tenant_id, delivery_id, receipt_digest)
    insert into waybill.receipts (tenant_id, subject, seq, kind, jws, digest)
      select tenant_id, 'delivery/' || delivery_id, 1, 'failed', 'made up', receipt_digest from born`,
    [...[fixture.tenant, fixture.connector, fixture.subscription, body, count], fixture.lane],
  );
  await db.rows('alter table waybill.deliveries enable trigger deliveries_birth');
}

/** A row of the tenant in each table of bulk replay. */
export async function fillBulkReplay(
  db: Pick<TestDatabase, 'rows'>,
  tenant: string,
  id: string,
): Promise<void> {
  const inserts = [
    `replay_jobs values ($1, '${id}', 'planned', '{}', 'ada', 'repaired', 10)`,
    `replay_items values ($1, '${id}', 1, '${id}', 'pushes', 1)`,
    `replay_scopes values ($1, '${id}', 'pushes', 1)`,
    `replay_paces values ($1, 'pushes-target', now())`,
  ];
  for (const insert of inserts) await db.rows(`insert into waybill.${insert}`, [tenant]);
}

/** Replays one planned delivery as a worker does. */
export function replayOne(
  db: TestDatabase,
  ref: BulkReplayRef,
  position: number,
  signed: ReceiptRow | null,
): Promise<ReplayPlannedAnswer> {
  const how = { by: 'bob', watchMs: 60_000 };
  return replayPlanned(db.as('waybill_data'), { ...ref, position }, how, signed);
}

/** A person moves the job. */
export function moveJob(
  db: TestDatabase,
  ref: BulkReplayRef,
  move: BulkReplayMove,
): Promise<MoveReplayAnswer> {
  return moveBulkReplay(db.as('waybill_data'), { ...ref, move, by: 'ada', reason: 'because' });
}

/** What became of the first planned delivery of a job of a tenant of its own. */
export async function replayedOne(db: TestDatabase, decision: 'acknowledged' | 'failed') {
  const acme = await ownTenant(db);
  const { ref, last } = await failedDelivery(db, acme);
  const job = await runningJob(db, acme);
  const signed = receipt('replayed', last);
  expect(await replayOne(db, job, 1, signed)).toEqual({ answer: 'replayed', series: 2 });
  const { attempt } = (await open(db, ref)).info;
  const close = decision === 'acknowledged' ? ACKNOWLEDGED : REFUSED;
  const at = { ...ref, attempt };
  await closeAttempt(db.as('waybill_data'), at, close, receipt(decision, signed));
  return { job, acme, ref };
}
