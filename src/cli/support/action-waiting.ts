/** One sentence on what an action waits for, and what to do about it. */
import type { Action } from '../../schemas/api-actions';

export function waitsForAction(action: Action): string {
  const { state } = action;
  const because = why(action);
  switch (state) {
    case 'completed':
    case 'failed':
    case 'cancelled':
      return 'nothing: it is over';
    case 'requested':
      return action.waitingSince === null && action.reason === null
        ? 'a worker that takes it on; see that `waybill worker` runs and is ready'
        : `its turn: ${because}. It is asked for again; see \`waybill fleet status\``;
    case 'awaiting_approval':
      return (
        `an approval, until ${action.approval?.expiresAt ?? 'its deadline'}: somebody other than ` +
        `${action.requestedBy} runs \`waybill approvals approve ${action.actionId} --reason …\`, or deny`
      );
    case 'reserved':
    case 'dispatching':
    case 'cancelling':
      return hostWait(action);
    case 'unknown':
    case 'reconciling':
      return `word of what became of it: ${because}. It goes to no other host`;
    case 'needs_operator':
      return (
        `a person: ${because}. Look at the provider, then ` +
        `\`waybill actions resolve ${action.actionId} --outcome … --reason …\``
      );
  }
}

function hostWait({ state, attempts }: Action): string {
  const open = attempts.find((attempt) => attempt.settledAt === null);
  if (open === undefined) return 'the next step of its workflow';
  const what = state === 'cancelling' ? 'its host, which was asked to stop' : "its host's answer";
  return `${what}: ${open.replicaId}, attempt ${open.attemptNo}, until ${open.deadlineAt} at the latest`;
}

function why({ reason, detail }: Action): string {
  if (detail === null || detail === '') return reason ?? 'its last attempt was not answered';
  return reason === null ? detail : `${detail} (${reason})`;
}
