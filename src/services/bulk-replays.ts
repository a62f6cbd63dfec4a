/**
 * Bulk replay (docs/architecture, "Bulk replay"): a bounded piece of work on a job, as its row says.
 * Every step of it is a transaction of its own, so whoever comes next goes on where this one stopped.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  concludeBulkReplay,
  dueReplays,
  moveBulkReplay,
  planBulkReplay,
  settleBulkReplay,
} from '../db/bulk-replays';
import type {
  BulkReplayCounts,
  BulkReplayMoved,
  BulkReplayMoveRequest,
  BulkReplayRef,
  BulkReplayStep,
} from '../domain/bulk-replays';
import { WaybillError } from '../domain/errors';
import { point } from '../points';
import type { BulkReplayProgress } from '../schemas/bulk-replay-rows';
import { signBulkReplayStatement } from '../signing/bulk-replay-statement';
import { replayItems, type ItemServices } from './bulk-replay-items';

export interface BulkReplayServices extends ItemServices {
  /** From 0 to 1. */
  readonly random: () => number;
  /** Deliveries that one job may hold; 100,000 unless told. */
  readonly mostPlanned?: number;
  /** Looked at in one transaction; 1,000 unless told. */
  readonly planBatch?: number;
}

/** A step's length: the workflow's history has one entry each. */
const STEP_MS = 10_000;
/** Between two looks while nothing is due because a target is busy: what it does now is over soon. */
const LOOK_MS = 100;
const MOST_PLANNED = 100_000;
const PLAN_BATCH = 1_000;
const SETTLE_BATCH = 1_000;
/** Of a job's deliveries at one target: being attempted, and not at their end yet. */
const AT_ONE_TARGET = { busy: 32, unsettled: 200 };
/** Failed again in a row: then a person should look. */
const STOP_AFTER = 25;
const CONCLUDE_TRIES = 10;

/** Works on the job for a few seconds, and says where it stands then. */
export async function stepBulkReplay(
  services: BulkReplayServices,
  ref: BulkReplayRef,
  signal: AbortSignal,
): Promise<BulkReplayStep> {
  const nudges = new Set<Promise<void>>();
  try {
    return await work(services, ref, { signal, nudges });
  } finally {
    await Promise.all(nudges);
  }
}

interface Work {
  readonly signal: AbortSignal;
  /** Wakings of workflows that are under way: slower than replaying, and waited for at the end. */
  readonly nudges: Set<Promise<void>>;
}

async function work(
  services: BulkReplayServices,
  ref: BulkReplayRef,
  { signal, nudges }: Work,
): Promise<BulkReplayStep> {
  const until = performance.now() + STEP_MS;
  for (;;) {
    const settled = await settleBulkReplay(services.data, ref, {
      batch: SETTLE_BATCH,
      stopAfter: STOP_AFTER,
    });
    if (settled.answer === 'unknown_job') return { kind: 'unknown_job' };
    const { progress } = settled;
    if (isOver(progress)) return await conclude(services, ref, progress);
    if (progress.state === 'planning') {
      const planned = await plan(services, ref);
      if (planned.kind !== 'planning' || performance.now() >= until) return planned;
      continue;
    }
    if (progress.state !== 'running') return standing(progress);
    const went = await replayDue(services, ref, { progress, nudges });
    const waitMs = Math.max(1, (went.dueInMs ?? LOOK_MS) * (1 + services.random() / 10));
    const rests = progress.left === 0 || signal.aborted;
    if (rests || performance.now() + waitMs >= until) return went;
    await delay(waitMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Decides a move on the row; the caller wakes the job's workflow. */
export async function decideBulkMove(
  { data }: Pick<BulkReplayServices, 'data'>,
  request: BulkReplayMoveRequest,
): Promise<BulkReplayMoved> {
  const moved = await moveBulkReplay(data, request);
  return moved.answer === 'unknown_job'
    ? { kind: 'unknown_job' }
    : { kind: moved.answer, state: moved.state };
}

async function plan(services: BulkReplayServices, ref: BulkReplayRef): Promise<BulkReplayStep> {
  const { planBatch = PLAN_BATCH, mostPlanned = MOST_PLANNED } = services;
  const planned = await planBulkReplay(services.data, ref, { batch: planBatch, most: mostPlanned });
  await point('bulk-replay.planned');
  return planned.answer === 'unknown_job' ? { kind: 'unknown_job' } : standing(planned.progress);
}

/** Replays what is due now. */
async function replayDue(
  services: BulkReplayServices,
  ref: BulkReplayRef,
  { progress, nudges }: Pick<Work, 'nudges'> & { readonly progress: BulkReplayProgress },
): Promise<Extract<BulkReplayStep, { kind: 'running' }>> {
  const nothing = { kind: 'running', full: [], held: [], dueInMs: null } as const;
  if (progress.left === 0) return { ...nothing, counts: countsOf(progress) };
  const due = await dueReplays(services.data, ref, AT_ONE_TARGET);
  // The next round sees what it has moved to.
  if (due.answer !== 'due') return { ...nothing, counts: countsOf(progress), dueInMs: 0 };
  await point('bulk-replay.due');
  const by = progress.runBy ?? progress.requestedBy;
  const began = performance.now();
  await replayItems(services, ref, due.items, { who: { by, reason: progress.reason }, nudges });
  return {
    ...{ kind: 'running', counts: countsOf(progress), full: due.full, held: due.held },
    dueInMs:
      due.waitMs === null ? null : Math.max(0, Math.ceil(due.waitMs - (performance.now() - began))),
  };
}

function isOver(progress: BulkReplayProgress): boolean {
  if (progress.concluded || progress.state === 'cancelled') return true;
  const { state, left, open, watchOver } = progress;
  return state === 'running' && left === 0 && (open === 0 || watchOver);
}

/** Signs what came of the job, over what it has come to when that is written. */
async function conclude(
  services: BulkReplayServices,
  ref: BulkReplayRef,
  found: BulkReplayProgress,
): Promise<BulkReplayStep> {
  let progress = found;
  for (let attempt = 1; attempt <= CONCLUDE_TRIES; attempt += 1) {
    const state = progress.state === 'cancelled' ? 'cancelled' : 'finished';
    const counts = countsOf(progress);
    if (progress.concluded) return { kind: 'over', state, counts };
    const { filter, reason, requestedBy, runBy, now } = progress;
    const receipt = await signBulkReplayStatement(
      {
        ...{ iss: 'waybill', v: 1, tenant: ref.tenantId, subject: `replay/${ref.jobId}` },
        ...{ at: new Date(Date.parse(now)).toISOString(), state },
        ...{ filter, reason, requestedBy, runBy, counts },
      },
      services.signingKey,
    );
    await point('bulk-replay.signed');
    const stated = { ...counts, state: progress.state, runBy };
    const answer = await concludeBulkReplay(services.data, ref, stated, receipt);
    await point('bulk-replay.concluded');
    if (answer.answer === 'unknown_job') return { kind: 'unknown_job' };
    if (answer.answer === 'concluded') return { kind: 'over', state, counts };
    ({ progress } = answer);
    if (!isOver(progress)) return standing(progress);
  }
  throw new WaybillError('internal', 'a bulk replay kept moving');
}

/** What a row that wants no work now says. */
function standing(progress: BulkReplayProgress): BulkReplayStep {
  const counts = countsOf(progress);
  switch (progress.state) {
    case 'planning':
    case 'planned':
      return { kind: progress.state, counts };
    case 'paused':
      return {
        ...{ kind: 'paused', counts, by: progress.movedBy ?? 'nobody' },
        why: progress.movedWhy,
      };
    case 'running':
      return { kind: 'running', counts, full: [], held: [], dueInMs: 0 };
    case 'cancelled':
    case 'finished':
      return { kind: 'over', state: progress.state, counts };
  }
}

function countsOf(progress: BulkReplayProgress): BulkReplayCounts {
  const { planned, replayed, acknowledged, failedAgain, open, skipped, left } = progress;
  return { planned, replayed, acknowledged, failedAgain, open, skipped, left };
}
