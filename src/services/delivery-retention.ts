/** Removing what is left of deliveries, by tenant and by what became of each (docs/architecture, "Retention"). */
import type { Database } from '../db/database';
import {
  deliveryTenants,
  retainDeliveries,
  retainPayloads,
  type RetentionBatch,
} from '../db/delivery-retention';
import type { RetainedDeliveries } from '../domain/upkeep';
import { point } from '../points';
import { forTenants, inBatches } from './batches';

const BATCH = 200;

/** States in which a delivery is settled and has a payload among the artifacts. */
const WITH_PAYLOAD: readonly RetentionBatch['state'][] = ['Acknowledged', 'Failed', 'Deduplicated'];
const SETTLED: readonly RetentionBatch['state'][] = [...WITH_PAYLOAD, 'Rejected'];

/**
 * First payloads, then rows with their attempts. Receipts stay until their own time is over.
 * @param operations role waybill_operations
 */
export async function retainDelivered(
  operations: Database,
  signal: AbortSignal,
): Promise<RetainedDeliveries & { readonly more: boolean }> {
  const total = { payloads: 0, deliveries: 0 };
  const more = await forTenants(
    (after, limit) => deliveryTenants(operations, after, limit),
    signal,
    async (tenant) => {
      const payloads = await ofStates(WITH_PAYLOAD, signal, async (state) => {
        const gone = await retainPayloads(operations, { tenant, state, limit: BATCH });
        total.payloads += gone;
        await point('retention.payloads');
        return gone;
      });
      const rows = await ofStates(SETTLED, signal, async (state) => {
        const gone = await retainDeliveries(operations, { tenant, state, limit: BATCH });
        total.deliveries += gone;
        await point('retention.rows');
        return gone;
      });
      return payloads || rows;
    },
  );
  return { ...total, more };
}

/** @param remove one batch of that state; how many went */
async function ofStates(
  states: readonly RetentionBatch['state'][],
  signal: AbortSignal,
  remove: (state: RetentionBatch['state']) => Promise<number>,
): Promise<boolean> {
  let more = false;
  for (const state of states) {
    more = (await inBatches(signal, async () => (await remove(state)) === BATCH)) || more;
  }
  return more;
}
