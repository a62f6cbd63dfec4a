/** The jobs of upkeep: bounded batches with a pause between them, until nothing is left or time is up. */
import type { Database } from '../db/database';
import { forgetExpired } from '../db/delivery-retention';
import { forgetEvents } from '../db/events';
import { counterDifferences, mendCounters, retainActions } from '../db/route-upkeep';
import type { CounterDifference, RetainedBatch } from '../domain/upkeep';
import { inBatches } from './batches';
import type { CheckpointServices } from './checkpoints';

/** Small enough that nothing waits for the rows of a batch. */
const BATCH = 100;
const FORGET_BATCH = 500;
/** An audit tells no more than so many: more than that is one fault, not many. */
export const MAX_DIFFERENCES = 1_000;

/** `signingKey` signs checkpoints. */
export interface UpkeepServices extends CheckpointServices {
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

/** Removes dedup keys, bytes of rejected requests, kept answers and events whose time is over. */
export async function forget(
  operations: Database,
  signal: AbortSignal,
): Promise<{ readonly more: boolean }> {
  const expired = await inBatches(signal, () => forgetExpired(operations, FORGET_BATCH));
  const events = await inBatches(signal, async () => {
    const gone = await forgetEvents(operations, FORGET_BATCH);
    return gone.events === FORGET_BATCH;
  });
  return { more: expired || events };
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
