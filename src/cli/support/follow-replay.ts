/** Following a bulk replay by asking the API. */
import { setTimeout as delay } from 'node:timers/promises';
import type { BulkReplay } from '../../schemas/api-bulk-replays';
import type { ApiClient } from './api-client';

const LOOK_MS = 500;

/** The job once `until` holds; `seen` is told of each look before. */
export async function followReplay(
  api: ApiClient,
  jobId: string,
  until: (job: BulkReplay) => boolean,
  seen: (job: BulkReplay) => void,
): Promise<BulkReplay> {
  for (;;) {
    const job = await api.replays.show(jobId);
    if (until(job)) return job;
    seen(job);
    await delay(LOOK_MS);
  }
}
