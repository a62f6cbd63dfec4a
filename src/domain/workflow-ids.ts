/**
 * Workflow ids, workflow types and task queues. An id is built from the tenant and the thing's own
 * id, so that starting it twice meets the same workflow. Temporal remembers an id only for the
 * namespace's retention: uniqueness for ever is Postgres's.
 */
import type { DeliveryId, TenantId } from './ids';

export const DELIVERY_WORKFLOW = 'delivery';

/** Task queues of `waybill worker`; a prefix keeps tests on one server apart. */
export const TASK_QUEUES = ['deliveries'] as const;
export type TaskQueue = (typeof TASK_QUEUES)[number];

export function deliveryWorkflowId(tenantId: TenantId, deliveryId: DeliveryId): string {
  return `delivery/${tenantId}/${deliveryId}`;
}
