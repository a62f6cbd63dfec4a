import type { Logger } from 'pino';
import { point } from '../../points';

export interface Attending<Row> {
  readonly claim: (limit: number) => Promise<readonly Row[]>;
  /** Starts or wakes the workflow of one. */
  readonly attend: (row: Row) => Promise<void>;
  /** Shortens claims that came to nothing, where they are long. */
  readonly giveBack?: (rows: readonly Row[]) => Promise<void>;
  /** What they are, for the log. */
  readonly what: string;
  readonly log: Logger;
}

const BATCH = 50;

/**
 * One round: claims what has no workflow and attends to each. A claim runs out, so whatever could not
 * be started is tried again later.
 * @returns whether the batch was full and all of it was attended to
 */
export async function attendClaimed<Row>(attending: Attending<Row>): Promise<boolean> {
  const { claim, attend, giveBack, what, log } = attending;
  const claimed = await claim(BATCH);
  if (claimed.length === 0) return false;
  await point('attend.claimed');
  const results = await Promise.allSettled(claimed.map(attend));
  await point('attend.started');
  const failed = results.filter((result) => result.status === 'rejected');
  if (failed.length === 0) {
    log.info({ count: claimed.length }, `attended to ${what}`);
    return claimed.length === BATCH;
  }
  const reason: unknown = failed[0]?.reason;
  log.warn(
    { failed: failed.length, of: claimed.length, err: String(reason) },
    'workflows could not be started; tried again later',
  );
  await giveBack?.(claimed.filter((_, no) => results[no]?.status === 'rejected'));
  return false;
}
