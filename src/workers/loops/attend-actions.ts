/**
 * Makes sure that every open action has a workflow: started while Temporal was away, by a process that
 * died before it could start one, or with a workflow that was terminated or lost.
 */
import type { Logger } from 'pino';
import { claimUnattendedActions, giveBackActions } from '../../db/action-steps';
import type { Database } from '../../db/database';
import { tenantId } from '../../domain/ids';
import type { UnattendedAction } from '../../schemas/action-step-rows';
import type { ActionWorkflows } from '../../temporal/action-starter';
import { attendClaimed } from './attend-claimed';

/** A claimed action is due again after this, should its workflow not have taken it on. */
const CLAIM_MS = 60_000;
/** And after this, where its workflow could not be started. */
const AGAIN_MS = 5_000;

export interface AttendActionsOptions {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly workflows: Pick<ActionWorkflows, 'ensure' | 'nudge'>;
  readonly log: Logger;
}

/** One round; true when the batch was full. */
export async function attendActionsRound(options: AttendActionsOptions): Promise<boolean> {
  return await attendClaimed({
    claim: (limit) => claimUnattendedActions(options.operations, limit, CLAIM_MS),
    attend: (row) => attend(options, row),
    giveBack: (rows) =>
      giveBackActions(options.operations, rows, { claimMs: CLAIM_MS, againMs: AGAIN_MS }),
    what: 'open actions',
    log: options.log,
  });
}

function attend({ workflows }: AttendActionsOptions, row: UnattendedAction): Promise<void> {
  const action = {
    tenantId: tenantId(row.tenant_id),
    actionId: row.action_id,
    capabilityId: row.capability_id,
    requestDigest: row.request_digest,
    affinityKey: row.affinity_key,
  };
  // A nudge ends whatever a workflow waits for: only for news.
  return row.news ? workflows.nudge(action) : workflows.ensure(action);
}
