/** Reports the figures of the whole deployment, from one process at a time. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Database } from '../../db/database';
import { leaveReporting, readDeploymentFigures } from '../../db/deployment-figures';
import type { Telemetry } from '../../telemetry/telemetry';
import { MAX_LABEL_SETS } from '../../telemetry/telemetry';
import { runLoop } from './loop';

const INTERVAL_MS = 60_000;
/** One round may be missed for a moment before another process takes over. */
const LEASE_MS = 90_000;

export interface ReportingOptions {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly telemetry: Telemetry;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Tries once a minute until the signal, then leaves the reporting to others at once. */
export async function reportFigures(options: ReportingOptions): Promise<void> {
  const { operations, telemetry, signal, log } = options;
  const reporter = randomUUID();
  await runLoop({
    name: 'report-figures',
    intervalMs: INTERVAL_MS,
    round: async () => {
      await reportRound(operations, telemetry, reporter);
      return false;
    },
    signal,
    log,
  });
  telemetry.reportDeployment(null, 0);
  // Postgres away: the lease ends by itself.
  await leaveReporting(operations, reporter).catch(() => undefined);
}

/** One round: reads the figures, or learns that another process reports them. */
export async function reportRound(
  operations: Database,
  telemetry: Telemetry,
  reporter: string,
): Promise<void> {
  // Taken before the lease: what is exported never outlives it.
  const startedMs = performance.now();
  const figures = await readDeploymentFigures(operations, {
    reporter,
    leaseMs: LEASE_MS,
    maxLabelSets: MAX_LABEL_SETS,
  });
  telemetry.reportDeployment(figures, startedMs + LEASE_MS);
}
