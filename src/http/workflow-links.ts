/** Where the workflow of a delivery or an action can be looked at. */
import { deliveryId, type TenantId } from '../domain/ids';
import type { BulkReplayRef } from '../domain/bulk-replays';
import type { CertificationRef } from '../domain/certification';
import {
  actionWorkflowId,
  bulkReplayWorkflowId,
  certifyWorkflowId,
  deliveryWorkflowId,
} from '../domain/workflow-ids';
import type { DeliveryRow } from '../schemas/api-deliveries';

interface TemporalUi {
  readonly temporalUi: string | null;
  readonly namespace: string;
}

export interface WorkflowLinks {
  readonly workflowId: string;
  /** Null where there is no Temporal UI. */
  readonly workflowUrl: string | null;
}

/**
 * Rejected and deduplicated deliveries are never dispatched: they have no workflow. Nor has one that waits
 * for the loop of the express lane, or for which that lane needed none.
 */
export function deliveryLinks(
  ui: TemporalUi,
  tenantId: TenantId,
  row: Pick<DeliveryRow, 'deliveryId' | 'state' | 'driver'>,
): WorkflowLinks | { readonly workflowId: null; readonly workflowUrl: null } {
  if (row.state === 'Rejected' || row.state === 'Deduplicated' || row.driver === 'loop') {
    return { workflowId: null, workflowUrl: null };
  }
  return sentLinks(ui, tenantId, row.deliveryId);
}

/** Of one that is or was dispatched. */
export function sentLinks(ui: TemporalUi, tenantId: TenantId, id: string): WorkflowLinks {
  return linksTo(ui, deliveryWorkflowId(tenantId, deliveryId(id)));
}

export function actionLinks(ui: TemporalUi, tenantId: TenantId, actionId: string): WorkflowLinks {
  return linksTo(ui, actionWorkflowId({ tenantId, actionId }));
}

export function bulkReplayLinks(ui: TemporalUi, ref: BulkReplayRef): WorkflowLinks {
  return linksTo(ui, bulkReplayWorkflowId(ref));
}

export function certificationLinks(
  ui: TemporalUi,
  ref: Omit<CertificationRef, 'run'>,
): WorkflowLinks {
  return linksTo(ui, certifyWorkflowId(ref));
}

function linksTo({ temporalUi, namespace }: TemporalUi, workflowId: string): WorkflowLinks {
  if (temporalUi === null) return { workflowId, workflowUrl: null };
  const base = temporalUi.replace(/\/+$/, '');
  const path = `/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
  return { workflowId, workflowUrl: `${base}${path}` };
}
