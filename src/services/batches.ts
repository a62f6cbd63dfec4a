/** Upkeep works in batches, each a transaction of its own, with room for others between two. */
import { setTimeout as delay } from 'node:timers/promises';

/** A run ends after so many; what is left is the next one's. */
const MAX_BATCHES = 1_000;
/** Leaves room for others between two batches. */
const PAUSE_MS = 20;
const TENANTS_A_PAGE = 100;

/**
 * Makes batches until one says that nothing is left. Answers whether there may be more.
 * @param batch one batch; true: there may be more
 */
export async function inBatches(
  signal: AbortSignal,
  batch: () => Promise<boolean>,
): Promise<boolean> {
  for (let made = 0; made < MAX_BATCHES && !signal.aborted; made += 1) {
    if (!(await batch())) return false;
    await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
  return true;
}

/**
 * Does the work of each tenant, in order. Answers whether there may be more.
 * @param tenantsAfter a page of tenants, in order
 * @param work of one tenant; true: there may be more of it
 */
export async function forTenants(
  tenantsAfter: (after: string, limit: number) => Promise<readonly string[]>,
  signal: AbortSignal,
  work: (tenant: string) => Promise<boolean>,
): Promise<boolean> {
  let more = false;
  for (let after = ''; ;) {
    const tenants = await tenantsAfter(after, TENANTS_A_PAGE);
    for (const tenant of tenants) {
      more = (await work(tenant)) || more;
      if (signal.aborted) return true;
    }
    const last = tenants.at(-1);
    if (last === undefined || tenants.length < TENANTS_A_PAGE) return more;
    after = last;
  }
}
