/**
 * Moving an action that is pinned to a host which cannot serve it (docs/architecture, "Routes"). Its
 * old host is sealed first: it stores a fence above all that was given out, and refuses everything
 * below it. One that cannot be asked is left behind only where nothing was ever sent to it.
 */
import type { ActionRef } from '../../domain/action-service';
import type { RouteOperator } from '../../domain/registry-ports';
import type { RepinAnswer, RepinFault, RepinSeal, RepinWish } from '../../domain/repin';
import type { HostClient } from '../../hosts/client';
import type { HostResult } from '../../hosts/client/results';
import { evidenceOf } from './closings';
import { fencingCall, SLACK_MS } from './fencing-call';

export interface RepinServices {
  readonly operator: RouteOperator;
  readonly hosts: Pick<HostClient, 'reconcile'>;
  /** Tells the action's workflow to look at its row; a hint that may be lost. */
  readonly nudge: (action: ActionRef) => Promise<void>;
}

/** A person waits for the answer. */
const SEAL_TIMEOUT_MS = 10_000;
/** A host that knows a higher fence says so once. */
const SEALS = 2;

/** @throws WaybillError `storage_unavailable`; then nothing was moved, and it may be asked for again */
export async function repinAction(
  { operator, hosts, nudge }: RepinServices,
  action: ActionRef,
  wish: RepinWish,
): Promise<RepinAnswer> {
  const signal = AbortSignal.timeout(SEALS * (SEAL_TIMEOUT_MS + SLACK_MS));
  let aboveFence: number | null = null;
  for (let round = 0; round < SEALS; round += 1) {
    const begun = await operator.beginRepin(action, aboveFence);
    if (begun.kind !== 'seal') return begun.kind === 'refused' ? refused(begun.why) : begun;
    const timeoutMs = Math.min(begun.timeoutMs, SEAL_TIMEOUT_MS);
    const result = await hosts.reconcile(fencingCall(begun, timeoutMs, signal));
    if (result.kind === 'refused' && result.refusal === 'stale_fence' && round + 1 < SEALS) {
      aboveFence = result.highestFence;
      continue;
    }
    const why = sealFault(result, begun);
    if (why !== null) return refused(why);
    const proof = { ...evidenceOf(result), fence: begun.fence, sealed: isSealed(result) };
    const { tenantId, actionId } = action;
    const at = { tenantId, actionId, fence: begun.fence };
    const concluded = await operator.concludeRepin(at, wish, proof);
    if (concluded.kind === 'refused') return refused(concluded.why);
    await nudge(action);
    return concluded;
  }
  return refused('not_proven');
}

function isSealed(result: HostResult): boolean {
  return result.kind === 'answered' && result.outcome.kind === 'not_started';
}

/** Why what the old host said is not enough; null: it is. */
function sealFault(result: HostResult, { mayBeOnTheWire }: RepinSeal): RepinFault | null {
  if (isSealed(result)) return null;
  // It knows something of the action, or cannot exclude it.
  if (result.kind === 'answered' || (result.kind === 'refused' && result.started)) {
    return 'not_proven';
  }
  if (!mayBeOnTheWire) return null;
  const silent =
    result.kind === 'not_sent' || (result.kind === 'lost' && result.reason !== 'store_lost');
  return silent ? 'host_unreachable' : 'not_proven';
}

function refused(why: RepinFault): RepinAnswer {
  return { kind: 'refused', why, detail: DETAILS[why] };
}

const DETAILS: Readonly<Record<RepinFault, string>> = {
  closed: 'it is over',
  attempt_open: 'a reservation of it is open; wait for its end',
  outcome_unknown: 'what became of it is not known; that has to be found out first',
  cancel_requested: 'somebody wants it cancelled',
  awaiting_approval: 'it has not been approved yet',
  no_route: 'it was never reserved: it is not pinned to a host',
  overtaken: 'something else was done with it meanwhile; look at it again',
  host_unreachable: 'its host does not answer, and may still get what was sent to it',
  not_proven: 'its host does not vouch that nothing of it has begun',
};
