/** Sends by an action: the clients of vendors stay in the hosts of the connection. */
import type { ActionOperation } from '../../schemas/outbound';
import { isShallow, MAX_NESTING } from '../../schemas/nesting';
import { buildRequest, inexactIn } from '../../targets/action-request';
import { parsedJson } from '../../schemas/json-bytes';
import { followAction } from '../action-attempts';
import type { SendingAdapter, SendingAttempt } from './adapter';

export const actionAdapter: SendingAdapter<ActionOperation> = {
  problem: ({ request }, { payload, config }) => {
    const value = parsedJson(payload);
    if (value === undefined) return 'the payload is no JSON';
    const built = buildRequest(request, value, config ?? {});
    if (built.kind === 'missing') return `there is nothing for the request at ${built.pointer}`;
    const inexact = isShallow(built.request, MAX_NESTING) ? inexactIn(built.request) : null;
    return inexact === null ? null : `the number ${inexact} cannot be held exactly`;
  },
  // An action is started once a series, and says itself what became of it.
  resendable: () => true,
  send: (services, attempt, signal) => {
    const { operation, info } = attempt;
    const { capabilityId, request, timeoutMs } = operation;
    return followAction(
      services,
      {
        ...attempt,
        target: { capabilityId, request, affinity: null, timeoutMs },
        terms: {
          requestedBy: info.requestedBy,
          // As `waybill.sending_pace` has kept it: to this connection, and no other.
          affinityKey: `connection/${info.connection.instanceId}`,
          deadlineMs: leftMs(attempt),
          attempts: info.budgetAttempts,
          config: info.connection.config ?? {},
          policyDecision: info.policyDecision,
          approval: info.approval,
        },
      },
      signal,
    );
  },
};

/** Of the caller's time, and of the approval's: an action begins nothing after its deadline. */
function leftMs({ info, clock }: SendingAttempt): number | null {
  const { deadlineInMs, approval } = info;
  if (approval === null) return deadlineInMs;
  const approvedForMs = Date.parse(approval.expiresAt) - clock();
  return deadlineInMs === null ? approvedForMs : Math.min(deadlineInMs, approvedForMs);
}
