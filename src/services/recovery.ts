/**
 * After a restore of the database from a backup (docs/architecture, "After a restore"): the rows are older than
 * what was done. Nothing is routed afresh: what may have been sent is asked about first, and what only
 * Temporal remembers is written down again.
 */
import type { Database } from '../db/database';
import {
  adoptAction,
  beginRecovery,
  doubtAction,
  lostActions,
  openActions,
  type LostAction,
} from '../db/recovery';
import type { ActionRef } from '../domain/action-service';
import type {
  ActionArchive,
  ActionRun,
  ActionRunFacts,
  Adopted,
  Doubted,
} from '../domain/recovery';

export interface RecoveryServices {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly archive: ActionArchive;
}

export interface RecoveryReport {
  /** Open actions of the restored rows, by what became of them. */
  readonly open: Readonly<Record<Doubted, number>>;
  /** Actions that only Temporal knew. */
  readonly lost: Readonly<Record<Adopted, number>>;
  /** Of these its history is not there either: whoever starts such an id starts it afresh. */
  readonly unreadable: readonly ActionRef[];
}

/**
 * May be repeated, and goes on where a run before it was interrupted. API and workers should be down:
 * an id that is started before this is through may be one that was lost.
 * @param by who asks for it, for the audit log
 * @throws WaybillError `storage_unavailable`, `temporal_unreachable`
 */
export async function recoverAfterRestore(
  services: RecoveryServices,
  by: string,
): Promise<RecoveryReport> {
  await beginRecovery(services.operations, by);
  const open = await doubtOpen(services);
  const lost = new Map<string, LostRuns>();
  for await (const runs of services.archive.pages()) await collectLost(services, runs, lost);
  const adopted = { buried: 0, handed: 0, known: 0 };
  const unreadable: ActionRef[] = [];
  for (const { ref, newest, startedAt } of lost.values()) {
    const facts = await services.archive.facts(newest);
    if (facts === null) unreadable.push(ref);
    else adopted[await adoptAction(services.operations, ref, toldBy(facts, startedAt))] += 1;
  }
  return { open, lost: adopted, unreadable };
}

interface LostRuns {
  readonly ref: ActionRef;
  readonly newest: ActionRun;
  /** Of the first run. */
  readonly startedAt: string;
}

async function collectLost(
  { operations }: RecoveryServices,
  runs: readonly ActionRun[],
  into: Map<string, LostRuns>,
): Promise<void> {
  const missing = new Set((await lostActions(operations, runs)).map(keyOf));
  for (const run of runs) {
    const key = keyOf(run);
    if (!missing.has(key) && !into.has(key)) continue;
    const known = into.get(key);
    const { tenantId, actionId } = run;
    const newest =
      known === undefined || known.newest.startedAt < run.startedAt ? run : known.newest;
    const first = known === undefined || run.startedAt < known.startedAt ? run : known;
    into.set(key, { ref: { tenantId, actionId }, newest, startedAt: first.startedAt });
  }
}

async function doubtOpen({
  operations,
  archive,
}: RecoveryServices): Promise<Record<Doubted, number>> {
  const count = { doubted: 0, untouched: 0, handed: 0, over: 0 };
  for (const action of await openActions(operations)) {
    // Where its route is known its host is asked in any case.
    const sentFence = action.routed ? null : await sentFenceOf(archive, action);
    count[await doubtAction(operations, action, sentFence)] += 1;
  }
  return count;
}

/** Null where no history tells: it may have been forgotten. */
async function sentFenceOf(archive: ActionArchive, ref: ActionRef): Promise<number | null> {
  const runs = await archive.runsOf(ref);
  const fences: number[] = [];
  for (const run of runs) {
    const facts = await archive.facts(run);
    if (facts === null) return null;
    fences.push(facts.sentFence);
  }
  return fences.length === 0 ? null : Math.max(...fences);
}

const OUTCOMES: Readonly<Partial<Record<string, LostAction['outcome']>>> = {
  completed: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
};

function toldBy({ state, ...facts }: ActionRunFacts, startedAt: string): LostAction {
  return { ...facts, startedAt, outcome: OUTCOMES[state ?? ''] ?? null };
}

function keyOf({ tenantId, actionId }: ActionRef): string {
  return `${tenantId}/${actionId}`;
}
