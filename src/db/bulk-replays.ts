/** Bulk replays in Postgres: planning, moves, batches, conclusion. One function, one round trip. */
import type { BulkReplayMoveRequest, BulkReplayRef } from '../domain/bulk-replays';
import type { ReceiptRow } from '../domain/receipts';
import {
  ConcludeReplayAnswer,
  CreateReplayAnswer,
  DueReplaysAnswer,
  MoveReplayAnswer,
  PlanReplayAnswer,
  ReplayPlannedAnswer,
  SettleReplayAnswer,
  UnattendedReplay,
} from '../schemas/bulk-replay-rows';
import type { BulkReplayFilter } from '../schemas/api-bulk-replays';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const bulkReplayStatements = {
  create: {
    name: 'bulk_replay_create',
    text: 'select waybill.create_replay($1, $2, $3, $4) as answer',
  },
  plan: {
    name: 'bulk_replay_plan',
    text: 'select waybill.plan_replay($1, $2, $3, $4) as answer',
  },
  move: {
    name: 'bulk_replay_move',
    text: 'select waybill.move_replay($1, $2, $3, $4, $5) as answer',
  },
  settle: {
    name: 'bulk_replay_settle',
    text: 'select waybill.settle_replay($1, $2, $3, $4) as answer',
  },
  due: {
    name: 'bulk_replay_due',
    text: 'select waybill.due_replays($1, $2, $3, $4) as answer',
  },
  replay: {
    name: 'bulk_replay_one',
    text: 'select waybill.replay_planned($1, $2, $3, $4, $5, $6) as answer',
  },
  conclude: {
    name: 'bulk_replay_conclude',
    text: 'select waybill.conclude_replay($1, $2, $3, $4) as answer',
  },
  claimUnattended: {
    name: 'bulk_replay_claim_unattended',
    text: 'select * from waybill.claim_unattended_replays($1, $2)',
  },
} as const satisfies Record<string, Statement>;

export interface BulkReplayWish {
  readonly filter: BulkReplayFilter;
  readonly ratePerSecond: number;
  readonly by: string;
  readonly reason: string;
}

/** Makes a job that is to be planned, once, unless so many of the tenant are not over. */
export async function createBulkReplay(
  db: Database,
  { tenantId, jobId }: BulkReplayRef,
  wish: BulkReplayWish,
  openLimit: number,
): Promise<CreateReplayAnswer> {
  const values = [tenantId, jobId, JSON.stringify(wish), openLimit];
  return CreateReplayAnswer.parse(await ask(db, bulkReplayStatements.create, values));
}

/** Plans the next `batch` failed deliveries, at most `most` in all; see `waybill.plan_replay`. */
export async function planBulkReplay(
  db: Database,
  { tenantId, jobId }: BulkReplayRef,
  bounds: { readonly batch: number; readonly most: number },
): Promise<PlanReplayAnswer> {
  const values = [tenantId, jobId, bounds.batch, bounds.most];
  return PlanReplayAnswer.parse(await ask(db, bulkReplayStatements.plan, values));
}

/** What people do with a job; see `waybill.move_replay`. */
export async function moveBulkReplay(
  db: Database,
  { tenantId, jobId, move, by, reason }: BulkReplayMoveRequest,
): Promise<MoveReplayAnswer> {
  const values = [tenantId, jobId, move, by, reason];
  return MoveReplayAnswer.parse(await ask(db, bulkReplayStatements.move, values));
}

/** Counts what has ended, and pauses the job when `stopAfter` in a row failed again. */
export async function settleBulkReplay(
  db: Database,
  { tenantId, jobId }: BulkReplayRef,
  bounds: { readonly batch: number; readonly stopAfter: number },
): Promise<SettleReplayAnswer> {
  const values = [tenantId, jobId, bounds.batch, bounds.stopAfter];
  return SettleReplayAnswer.parse(await ask(db, bulkReplayStatements.settle, values));
}

/** What may be replayed now; see `waybill.due_replays`. */
export async function dueReplays(
  db: Database,
  { tenantId, jobId }: BulkReplayRef,
  bounds: { readonly busy: number; readonly unsettled: number },
): Promise<DueReplaysAnswer> {
  const values = [tenantId, jobId, bounds.busy, bounds.unsettled];
  return DueReplaysAnswer.parse(await ask(db, bulkReplayStatements.due, values));
}

/** Replays one planned delivery, or says why not; see `waybill.replay_planned`. */
export async function replayPlanned(
  db: Database,
  { tenantId, jobId, position }: BulkReplayRef & { readonly position: number },
  how: { readonly by: string; readonly watchMs: number },
  receipt: ReceiptRow | null,
): Promise<ReplayPlannedAnswer> {
  const signed = receipt === null ? null : JSON.stringify(receipt);
  const values = [tenantId, jobId, position, how.by, signed, how.watchMs];
  return ReplayPlannedAnswer.parse(await ask(db, bulkReplayStatements.replay, values));
}

/** Ends a job with its signed statement, if it still is what was stated. */
export async function concludeBulkReplay(
  db: Database,
  { tenantId, jobId }: BulkReplayRef,
  stated: object,
  receipt: string,
): Promise<ConcludeReplayAnswer> {
  const values = [tenantId, jobId, JSON.stringify(stated), receipt];
  return ConcludeReplayAnswer.parse(await ask(db, bulkReplayStatements.conclude, values));
}

/** Jobs that no workflow has attended to in time, claimed for `pushMs` (role operations). */
export async function claimUnattendedReplays(
  db: Database,
  limit: number,
  pushMs: number,
): Promise<UnattendedReplay[]> {
  const rows = await db.query(bulkReplayStatements.claimUnattended, [limit, pushMs]);
  return rows.map((row) => UnattendedReplay.parse(row));
}

async function ask(
  db: Database,
  statement: Statement,
  values: readonly unknown[],
): Promise<unknown> {
  return onlyRow(await db.query(statement, values))['answer'];
}
