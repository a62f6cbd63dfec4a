/** Deliveries that become a workflow of somebody else, or a signal to one. */
import type { DeliveryId, TenantId } from './ids';

export interface WorkflowDestination {
  readonly taskQueue: string;
  readonly workflowType: string;
  /** Null: a workflow is started for each delivery. */
  readonly signal: {
    readonly name: string;
    /** Of the tenant: its id begins with it. */
    readonly workflow: string;
  } | null;
}

export interface WorkflowDispatch {
  readonly tenantId: TenantId;
  readonly deliveryId: DeliveryId;
  readonly target: WorkflowDestination;
  /** What the workflow, or its signal, gets. */
  readonly input: WorkflowInput;
  /** For people, in the Temporal UI. */
  readonly summary: string;
  readonly timeoutMs: number;
}

/**
 * The only argument. The delivery id is the same in every attempt and replay: a signal may come twice,
 * and its receiver tells it by that.
 */
export interface WorkflowInput {
  readonly tenantId: string;
  readonly deliveryId: string;
  readonly subscriptionId: string | null;
  readonly connectorId: string;
  readonly externalId: string | null;
  readonly eventType: string;
  readonly receivedAt: string;
  readonly attempt: number;
  readonly replay: number;
  readonly contentType: string | null;
  /** The vendor's, without secrets. */
  readonly headers: readonly (readonly [string, string])[];
  readonly payloadSha256: string;
  /** The payload where it is JSON of at most 100 levels, its numbers as JavaScript reads them; else `null`. */
  readonly payload: unknown;
  /** The exact bytes. */
  readonly payloadBase64: string;
}

/**
 * `taken`: started or signalled, now or by an earlier attempt. `refused`: nothing was started.
 * `lost`: it may have been; asking again is safe.
 */
export type WorkflowReport =
  | { readonly kind: 'taken'; readonly detail: string }
  | { readonly kind: 'refused'; readonly detail: string; readonly forGood: boolean }
  | { readonly kind: 'lost'; readonly detail: string };

export type DispatchToWorkflow = (dispatch: WorkflowDispatch) => Promise<WorkflowReport>;

/** Two parts, where each of Waybill's own ids has three: never one of them. */
export function targetWorkflowId(
  dispatch: Pick<WorkflowDispatch, 'tenantId' | 'deliveryId' | 'target'>,
): string {
  return `${dispatch.tenantId}/${dispatch.target.signal?.workflow ?? dispatch.deliveryId}`;
}
