/**
 * Ends what is overdue in the fleet: replicas whose lease ran out, attempts past their deadline or of a
 * replica that has gone (docs/architecture, "Routes"). Routing is right without it; waiting is shorter.
 */
import type { Logger } from 'pino';
import type { Database } from '../../db/database';
import { fleetStatusProvider, leaveSweepTurn, takeSweepTurn } from '../../db/replicas';
import { runLoop } from './loop';

/** Of replicas, and of attempts. */
const BATCH = 100;
/** After that another process may take over, should this one have died in its round. */
const TURN_MS = 15_000;
const ASK_EVERY_MS = 500;
/** Between two rounds of the deployment. */
const PAUSE_MS = 1_000;
/** How much longer or shorter that may be. */
const JITTER = 0.2;

export interface SweepOptions {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly log: Logger;
  /** From 0 to 1. */
  readonly random: () => number;
}

/**
 * One round, where it is this process's turn: one process of the deployment sweeps at a time. True when
 * a batch was full, so that there may be more to end at once.
 */
export async function sweepRound({ operations, log, random }: SweepOptions): Promise<boolean> {
  if (!(await takeSweepTurn(operations, TURN_MS))) return false;
  let more = false;
  try {
    const ended = await fleetStatusProvider(operations).sweep(BATCH);
    if (ended.offline + ended.settled > 0) log.info(ended, 'swept the fleet');
    more = ended.offline === BATCH || ended.settled === BATCH;
    return more;
  } finally {
    // A failure must not hide the one before it; the turn ends by itself.
    await leaveSweepTurn(operations, more ? 0 : pauseMs(random)).catch(() => undefined);
  }
}

/** Sweeps about once a second, over all processes together, until the signal. */
export async function sweepLoop(
  options: SweepOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const { signal, log } = options;
  const round = () => sweepRound(options);
  await runLoop({ name: 'sweep', intervalMs: ASK_EVERY_MS, round, signal, log });
}

function pauseMs(random: () => number): number {
  return Math.round(PAUSE_MS * (1 - JITTER + 2 * JITTER * random()));
}
