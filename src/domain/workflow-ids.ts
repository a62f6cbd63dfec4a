/**
 * Workflow ids, workflow types and task queues. An id is built from the tenant and the thing's own
 * id, so that starting it twice meets the same workflow. Temporal remembers an id only for the
 * namespace's retention: uniqueness for ever is Postgres's.
 */
import type { ActionRef } from './action-service';
import type { BulkReplayRef } from './bulk-replays';
import type { CertificationRef } from './certification';
import type { DeliveryId, TenantId } from './ids';

export const ACTION_WORKFLOW = 'action';
export const DELIVERY_WORKFLOW = 'delivery';
export const BULK_REPLAY_WORKFLOW = 'replay';
export const UPKEEP_WORKFLOW = 'upkeep';
export const CERTIFY_WORKFLOW = 'certify';

/** The activity by which an action's request leaves; see its contract. */
export const DISPATCH_ACTIVITY = 'dispatchAction';

/** The task queues of `waybill worker`; a prefix keeps deployments on one Temporal server apart. */
export const QUEUES = ['actions', 'deliveries', 'operations'] as const;
export type Queue = (typeof QUEUES)[number];

export function deliveryWorkflowId(tenantId: TenantId, deliveryId: DeliveryId): string {
  return `delivery/${tenantId}/${deliveryId}`;
}

export function actionWorkflowId({ tenantId, actionId }: ActionRef): string {
  return `action/${tenantId}/${actionId}`;
}

export function bulkReplayWorkflowId({ tenantId, jobId }: BulkReplayRef): string {
  return `replay/${tenantId}/${jobId}`;
}

/** Of all runs of a suite over a version: one at a time. */
export function certifyWorkflowId({
  connectorId,
  version,
  suiteVersion,
}: Omit<CertificationRef, 'run'>): string {
  return `certify/${connectorId}/${version}/${suiteVersion}`;
}
