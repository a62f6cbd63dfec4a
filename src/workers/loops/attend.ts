/**
 * Makes sure that every live delivery has a workflow: accepted while Temporal was away, replayed by
 * a process that died before its nudge, or with a workflow that was terminated or lost.
 */
import type { Logger } from 'pino';
import type { Database } from '../../db/database';
import { claimUnattended } from '../../db/deliveries';
import { deliveryId, tenantId } from '../../domain/ids';
import { point } from '../../points';
import type { UnattendedDelivery } from '../../schemas/delivery-rows';
import type { DeliveryWorkflows } from '../../temporal/delivery-starter';

const BATCH = 50;
/** A claimed delivery is due again after this, should its workflow not have taken it on. */
const CLAIM_MS = 5_000;

export interface AttendOptions {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly workflows: DeliveryWorkflows;
  readonly log: Logger;
}

/** One round; true when the batch was full. */
export async function attendRound(options: AttendOptions): Promise<boolean> {
  const claimed = await claimUnattended(options.operations, BATCH, CLAIM_MS);
  if (claimed.length === 0) return false;
  await point('attend.claimed');
  const results = await Promise.allSettled(claimed.map((row) => attend(options, row)));
  await point('attend.started');
  const failed = results.filter((result) => result.status === 'rejected');
  if (failed.length > 0) {
    const [first] = failed;
    const reason: unknown = first?.reason;
    options.log.warn(
      { failed: failed.length, of: claimed.length, err: String(reason) },
      'workflows could not be started; tried again later',
    );
    return false;
  }
  options.log.info({ count: claimed.length }, 'attended to live deliveries');
  return claimed.length === BATCH;
}

function attend(options: AttendOptions, row: UnattendedDelivery): Promise<void> {
  const ref = { tenantId: tenantId(row.tenant_id), deliveryId: deliveryId(row.delivery_id) };
  const about = {
    connectorId: row.connector_id,
    eventType: row.event_type,
    subscriptionId: row.subscription_id,
  };
  // Replayed: a workflow that waits for the replay must be told of it.
  return row.state === 'Replayed'
    ? options.workflows.nudge(ref, about)
    : options.workflows.ensure(ref, about);
}
