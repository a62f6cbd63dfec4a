/**
 * Workflow ids, workflow types and the task queue. An id is built from the tenant and the thing's own
 * id, so that starting it twice meets the same workflow. Temporal remembers an id only for the
 * namespace's retention: uniqueness for ever is Postgres's.
 */
import type { DeliveryId, TenantId } from './ids';

export const DELIVERY_WORKFLOW = 'delivery';

/** The task queue of `waybill worker`; a prefix keeps deployments on one Temporal server apart. */
export const DELIVERY_QUEUE = 'deliveries';

export function deliveryWorkflowId(tenantId: TenantId, deliveryId: DeliveryId): string {
  return `delivery/${tenantId}/${deliveryId}`;
}
