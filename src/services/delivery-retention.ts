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
import { inBatches } from './batches';

const BATCH = 200;
const TENANTS_A_PAGE = 100;

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
  let more = false;
  let after = '';
  for (;;) {
    const tenants = await deliveryTenants(operations, after, TENANTS_A_PAGE);
    for (const tenant of tenants) {
      more = (await payloadsOf(operations, tenant, signal, total)) || more;
      more = (await rowsOf(operations, tenant, signal, total)) || more;
      if (signal.aborted) return { ...total, more: true };
    }
    const last = tenants.at(-1);
    if (last === undefined || tenants.length < TENANTS_A_PAGE) return { ...total, more };
    after = last;
  }
}

interface Total {
  payloads: number;
  deliveries: number;
}

async function payloadsOf(
  operations: Database,
  tenant: string,
  signal: AbortSignal,
  total: Total,
): Promise<boolean> {
  let more = false;
  for (const state of WITH_PAYLOAD) {
    const left = await inBatches(signal, async () => {
      const gone = await retainPayloads(operations, { tenant, state, limit: BATCH });
      total.payloads += gone;
      await point('retention.payloads');
      return gone === BATCH;
    });
    more ||= left;
  }
  return more;
}

async function rowsOf(
  operations: Database,
  tenant: string,
  signal: AbortSignal,
  total: Total,
): Promise<boolean> {
  let more = false;
  for (const state of SETTLED) {
    const left = await inBatches(signal, async () => {
      const gone = await retainDeliveries(operations, { tenant, state, limit: BATCH });
      total.deliveries += gone;
      await point('retention.rows');
      return gone === BATCH;
    });
    more ||= left;
  }
  return more;
}
