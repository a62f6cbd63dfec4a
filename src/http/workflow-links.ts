/** Where a delivery's workflow can be looked at. */
import { deliveryId, type TenantId } from '../domain/ids';
import { deliveryWorkflowId } from '../domain/workflow-ids';
import type { DeliveryRow } from '../schemas/api-deliveries';

export interface WorkflowLinks {
  readonly workflowId: string | null;
  readonly workflowUrl: string | null;
}

/** Rejected and deduplicated deliveries are never dispatched: they have no workflow. */
export function workflowLinks(
  ui: { readonly temporalUi: string | null; readonly namespace: string },
  tenantId: TenantId,
  row: Pick<DeliveryRow, 'deliveryId' | 'state'>,
): WorkflowLinks {
  if (row.state === 'Rejected' || row.state === 'Deduplicated') {
    return { workflowId: null, workflowUrl: null };
  }
  const workflowId = deliveryWorkflowId(tenantId, deliveryId(row.deliveryId));
  const base = ui.temporalUi?.replace(/\/+$/, '');
  return {
    workflowId,
    workflowUrl:
      base === undefined
        ? null
        : `${base}/namespaces/${encodeURIComponent(ui.namespace)}/workflows/${encodeURIComponent(workflowId)}`,
  };
}
