/** Telling an action's workflow that its row has changed. */
import { readAction } from '../../db/action-steps';
import type { Database } from '../../db/database';
import type { ActionIdentity } from '../../domain/action-activities';
import type { ActionRef } from '../../domain/action-service';

/** `start`: it has to have a workflow; `nudge`: there is news, too; `over`: that it is, for one that runs. */
export type AttendReason = 'start' | 'nudge' | 'over';

/** A hint: a workflow that does not hear looks by itself, and a loop makes sure that there is one. */
export async function nudge(
  services: {
    /** Role waybill_data. */
    readonly data: Database;
    readonly attend: (action: ActionIdentity, why: AttendReason) => void;
  },
  ref: ActionRef,
): Promise<void> {
  const action = await readAction(services.data, ref);
  if (action === null) return;
  const { capabilityId, requestDigest, affinityKey, result } = action;
  const identity = { ...ref, capabilityId, requestDigest, affinityKey };
  services.attend(identity, result === null ? 'nudge' : 'over');
}
