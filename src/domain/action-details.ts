/**
 * What an action says of itself in the Temporal UI while it waits: for what, and what to do.
 * Markdown; no payload, no secret, no address.
 */
import type {
  ActionIdentity,
  Asked,
  AwaitingApproval,
  Dispatched,
  NextStep,
  OperatorNeeded,
} from './action-activities';
import type { Progress } from './host-protocol';

type Wait = Extract<NextStep, { kind: 'wait' }>;
type Again = Extract<Asked, { kind: 'again' }>;
type NotStarted = Extract<Dispatched, { kind: 'not_started' }>;

export function waitDetails({ state, reason, detail, forMs }: Wait): string {
  const isUncertain = state === 'reconciling';
  const what = isUncertain
    ? '**Waits to be done again, which finds out what became of it**'
    : '**Waits for a route**';
  const doubt = 'It was sent before and may have had its effect. It goes to no other host. ';
  return (
    `${what}: ${detail} (\`${reason}\`). ` +
    (isUncertain ? doubt : '') +
    `Its route is asked for again in ${forMs} ms. ` +
    'Nothing needs doing unless this lasts: see `waybill fleet status`.'
  );
}

export function resendDetails(answer: NotStarted): string {
  return (
    `**Waits for its next try**: nothing began, ${answer.detail} (\`${answer.reason}\`). ` +
    `It is sent again to the same host in ${answer.retryInMs} ms. Nothing needs doing.`
  );
}

export function runningDetails(progress: Progress | null): string {
  const says = progress === null ? '' : ` It says: ${inCode(progress)}.`;
  return `**Its host is at work.**${says} It is asked again soon. Nothing needs doing.`;
}

/** A host's word: shown as it is, and not as Markdown. */
function inCode({ note, percent }: Progress): string {
  const text = note.replaceAll('`', "'");
  return percent === null ? `\`${text}\`` : `\`${text}\` (${percent} %)`;
}

export function againDetails(answer: Again): string {
  return (
    `**Finds out what became of it**: ${answer.detail} (\`${answer.reason}\`). ` +
    `Its host is asked again in ${answer.inMs} ms; it is not sent elsewhere. ` +
    'If its host is down, bring it back with its store.'
  );
}

export function operatorDetails(needed: OperatorNeeded, actionId: string): string {
  const by = needed.cancelRequestedBy;
  const wish = by === null ? '' : `It was asked to stop by ${by}. `;
  return (
    `**Needs an operator**: ${needed.detail} (\`${needed.reason}\`). ` +
    'It may have had its effect, so nothing is done until a person says what became of it. ' +
    wish +
    `Look at the provider for action \`${actionId}\`, then send this workflow the update \`resolve\` ` +
    'with the input `{"outcome": "completed", "by": "your name", "reason": "how you know"}`. ' +
    '`outcome` is `completed` (the effect is there), `failed` or `cancelled` (it is not, and shall not ' +
    'be), or `retry` (it is certain that it is not: it is sent again).'
  );
}

export function approvalDetails(
  needed: AwaitingApproval,
  { tenantId, actionId }: Pick<ActionIdentity, 'tenantId' | 'actionId'>,
): string {
  return (
    `**Waits for an approval** of \`${needed.capabilityId}\` until ${needed.expiresAt}; then it fails. ` +
    `${needed.requestedBy} has asked for it and may not approve it. Nothing was begun. ` +
    `See what is asked for with \`waybill actions show ${actionId}\`, then ` +
    `\`waybill approvals approve ${actionId} --reason …\` or \`waybill approvals deny ${actionId} --reason …\`. ` +
    'Here, send this workflow the update `deny` with `{"by": "your name", "reason": "why"}`, or the ' +
    'update `approve` with `{"token": "…"}`, signed by ' +
    `\`waybill approvals sign --key … --as … --tenant ${tenantId} --about action/${actionId} ` +
    `--digest ${needed.requestDigest}\`.`
  );
}
