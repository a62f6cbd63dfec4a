/** The jobs of upkeep: bounded batches with a pause between them, until nothing is left or time is up. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../db/database';
import { forgetExpired } from '../db/deliveries';
import { counterDifferences, mendCounters, retainActions } from '../db/route-upkeep';
import type { CounterDifference, RetainedBatch } from '../domain/upkeep';

/** Small enough that nothing waits for the rows of a batch. */
const BATCH = 100;
/** A run ends after so many; what is left is the next one's. */
const MAX_BATCHES = 1_000;
/** Leaves room for routing between two batches. */
const PAUSE_MS = 20;
const FORGET_BATCH = 500;
/** An audit tells no more than so many: more than that is one fault, not many. */
export const MAX_DIFFERENCES = 1_000;

export interface UpkeepServices {
  /** Role waybill_operations. */
  readonly operations: Database;
  /** Told of the counters that an audit has found wrong. */
  readonly differ: (differences: readonly CounterDifference[]) => void;
}

/**
 * Removes closed actions whose time is over, bytes that nobody has for 24 h, and old tombstones
 * (docs/architecture, "Retention").
 * @param operations role waybill_operations
 */
export async function retain(
  operations: Database,
  signal: AbortSignal,
): Promise<RetainedBatch & { readonly more: boolean }> {
  const total = { actions: 0, artifacts: 0, tombstones: 0 };
  const more = await inBatches(signal, async () => {
    const batch = await retainActions(operations, BATCH);
    total.actions += batch.actions;
    total.artifacts += batch.artifacts;
    total.tombstones += batch.tombstones;
    return Object.values(batch).some((count) => count === BATCH);
  });
  return { ...total, more };
}

/** Removes dedup keys and bytes of rejected requests whose time is over. */
export async function forget(
  operations: Database,
  signal: AbortSignal,
): Promise<{ readonly more: boolean }> {
  return { more: await inBatches(signal, () => forgetExpired(operations, FORGET_BATCH)) };
}

export interface CounterAudit {
  /** What differed, or what was mended. */
  readonly differences: readonly CounterDifference[];
  /** There may be more than these. */
  readonly more: boolean;
}

/** Compares every counter with the open attempts, as of one moment. */
export async function auditCounters(operations: Database): Promise<CounterAudit> {
  const differences = await counterDifferences(operations, MAX_DIFFERENCES);
  return { differences, more: differences.length === MAX_DIFFERENCES };
}

/** Mends what differs; correct also while others reserve and settle. */
export async function repairCounters(operations: Database, by: string): Promise<CounterAudit> {
  const differences: CounterDifference[] = [];
  while (differences.length < MAX_DIFFERENCES) {
    const mended = await mendCounters(operations, by, BATCH);
    differences.push(...mended);
    if (mended.length < BATCH) return { differences, more: false };
  }
  return { differences, more: true };
}

/** Whether there is more to do. */
async function inBatches(signal: AbortSignal, batch: () => Promise<boolean>): Promise<boolean> {
  for (let made = 0; made < MAX_BATCHES && !signal.aborted; made += 1) {
    if (!(await batch())) return false;
    await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
  return true;
}
