/**
 * The lives of a bulk replay whose histories are kept in `test/histories`: each ends where a workflow
 * of the last release may stand when a new build takes it over.
 */
import type { BulkReplayRef } from '../../src/domain/bulk-replays';
import type { BulkReplayRig } from './bulk-replay-rig';
import { failedInOneGo } from './bulk-replays';
import { until } from './until';

type Scenario = (bulk: BulkReplayRig) => Promise<BulkReplayRef>;

let tenants = 0;

/** A planned job of a tenant of its own. */
async function planned(bulk: BulkReplayRig, count: number, retryMs = 30): Promise<BulkReplayRef> {
  tenants += 1;
  const fixture = await bulk.rig.catalog({
    tenant: `recorded-${tenants}`,
    retry: {
      ...{ attempts: 2, backoff: { kind: 'list', delaysMs: [retryMs] }, jitter: 0 },
      ...{ totalSpanMs: null, retryAfterCapMs: 1_000 },
    },
  });
  await failedInOneGo(bulk.rig.db, fixture, count);
  const ref = await bulk.plan(fixture);
  await bulk.says(ref, /Planned/);
  return ref;
}

export const BULK_REPLAY_SCENARIOS: Readonly<Record<string, Scenario>> = {
  'bulk-replay-planned': (bulk) => planned(bulk, 3),

  'bulk-replay-finished': async (bulk) => {
    const ref = await planned(bulk, 3);
    await bulk.move(ref, 'run');
    await bulk.handle(ref).result();
    return ref;
  },

  'bulk-replay-waiting-for-what-is-under-way': async (bulk) => {
    bulk.rig.receiver.answers.push({ status: 503 });
    const ref = await planned(bulk, 2, 600_000);
    await bulk.move(ref, 'run');
    await until('one is left', async () => ((await bulk.job(ref)).acknowledged === 1 ? 1 : null));
    await bulk.says(ref, /1 under way.*Waits for what is under way/);
    return ref;
  },

  'bulk-replay-paused-by-the-signal': async (bulk) => {
    const ref = await planned(bulk, 400);
    await bulk.handle(ref).signal('pause', { by: 'ada' });
    await bulk.handle(ref).signal('run', { by: 'ada' });
    await bulk.handle(ref).signal('pause', { by: 'ada', reason: 'lunch' });
    await bulk.says(ref, /Paused/);
    return ref;
  },

  'bulk-replay-cancelled-by-the-button': async (bulk) => {
    const ref = await planned(bulk, 3);
    await bulk.handle(ref).cancel();
    await bulk.handle(ref).result();
    return ref;
  },
};
