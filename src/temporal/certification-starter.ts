/** Starting the workflow of a certification: one at a time for a version and a suite. */
import type { Client } from '@temporalio/client';
import type { CertificationInput, CertificationRef } from '../domain/certification';
import type { TenantId } from '../domain/ids';
import { CERTIFY_WORKFLOW, certifyWorkflowId } from '../domain/workflow-ids';
import { fairlyFor } from './fairness';
import { startAttributes } from './start-attributes';

/** How a certification's workflow waits; see its input. */
export type CertificationTiming = Pick<CertificationInput, 'hostWaitMs' | 'heartbeatMs'>;

export class CertificationWorkflows {
  readonly #client: Client;
  readonly #taskQueue: string;
  readonly #timing: CertificationTiming;

  constructor(client: Client, taskQueue: string, timing: CertificationTiming) {
    this.#client = client;
    this.#taskQueue = taskQueue;
    this.#timing = timing;
  }

  /** Makes sure that a workflow works on the run; on one that is under way, nothing changes. */
  async start(tenantId: TenantId, ref: CertificationRef): Promise<void> {
    const input: CertificationInput = { ...ref, ...this.#timing };
    await this.#client.workflow.start(CERTIFY_WORKFLOW, {
      workflowId: certifyWorkflowId(ref),
      taskQueue: this.#taskQueue,
      args: [input],
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      typedSearchAttributes: startAttributes(tenantId),
      priority: fairlyFor(tenantId),
      staticSummary: `certify ${ref.connectorId} ${ref.version}`,
    });
  }
}
