/**
 * Makes sure that every live delivery has a workflow, but for those that wait for the loop of the express
 * lane: accepted while Temporal was away, replayed by a process that died before its nudge, or with a
 * workflow that was terminated or lost. So has one of the express lane that failed at once, for people.
 */
import type { Logger } from 'pino';
import type { Database } from '../../db/database';
import type { GatePlace } from '../../db/deliveries';
import { BEFORE_ALL_GATES, claimUnattended, releaseGated } from '../../db/deliveries';
import { claimUnshown } from '../../db/express-deliveries';
import { wakeEnded } from '../../db/subscriptions';
import { deliveryId, tenantId } from '../../domain/ids';
import type { UnattendedDelivery } from '../../schemas/delivery-rows';
import type { DeliveryWorkflows } from '../../temporal/delivery-starter';
import { attendClaimed } from './attend-claimed';

/** A claimed delivery is due again after this, should its workflow not have taken it on. */
const CLAIM_MS = 5_000;

export interface AttendOptions {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly workflows: DeliveryWorkflows;
  readonly log: Logger;
  /** Carries over from round to round. */
  readonly walk: GateWalk;
}

/** Where the next round goes on among the gates. */
export interface GateWalk {
  after: GatePlace;
}

export function gateWalk(): GateWalk {
  return { after: BEFORE_ALL_GATES };
}

/** Released in one round over all gates; each at its own rate. */
const RELEASED_AT_ONCE = 500;

/** One round, after releasing what nothing holds any more; true when the batch was full. */
export async function attendRound(options: AttendOptions): Promise<boolean> {
  const { operations, walk } = options;
  walk.after = await releaseGated(operations, RELEASED_AT_ONCE, walk.after);
  await wakeEnded(operations, RELEASED_AT_ONCE);
  const attending = { attend: (row: UnattendedDelivery) => attend(options, row), log: options.log };
  await attendClaimed({
    ...attending,
    claim: (limit) => claimUnshown(operations, limit, CLAIM_MS),
    what: 'failed express deliveries',
  });
  return await attendClaimed({
    ...attending,
    claim: (limit) => claimUnattended(operations, limit, CLAIM_MS),
    what: 'live deliveries',
  });
}

function attend(options: AttendOptions, row: UnattendedDelivery): Promise<void> {
  const ref = { tenantId: tenantId(row.tenant_id), deliveryId: deliveryId(row.delivery_id) };
  const about = {
    connectorId: row.connector_id,
    eventType: row.event_type,
    subscriptionId: row.subscription_id,
  };
  return row.wake ? options.workflows.nudge(ref, about) : options.workflows.ensure(ref, about);
}
