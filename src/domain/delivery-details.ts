/**
 * What a waiting delivery says of itself in the Temporal UI: a sentence on what it waits for, and
 * what to do. Markdown; no payload, no secret, no address.
 */
import type { AttemptAnswer } from './delivery-activities';
import type { TenantId } from './ids';
import { actionWorkflowId } from './workflow-ids';

type Answer<Kind extends AttemptAnswer['kind']> = Extract<AttemptAnswer, { kind: Kind }>;

export function retryDetails(
  answer: Pick<Answer<'retry'>, 'attempt' | 'reason' | 'detail'>,
  dueAtIso: string,
): string {
  return (
    `**Waits for its next attempt**, due at ${dueAtIso}. ` +
    `Attempt ${answer.attempt} did not succeed: ${answer.detail} (\`${answer.reason}\`). ` +
    'Nothing needs doing: it is tried again by itself.'
  );
}

const HELD: Readonly<Record<string, readonly [cause: string, remedy: string]>> = {
  paused: ['its subscription is paused', 'resume it with `waybill subscriptions resume`'],
  target_gone: [
    'its target answered 410, which paused the subscription',
    'correct the target and resume it with `waybill subscriptions resume`',
  ],
  target_paused: ['its target is paused', 'resume it with `waybill targets resume`'],
  breaker_open: [
    'its target failed several times in a row, so that nothing is sent there for a while',
    'repair the target; it is tried again by itself, one delivery at a time',
  ],
  target_busy: [
    'as many attempts as its target takes are under way',
    'wait, or publish the target with a higher `maxInFlight`',
  ],
  tenant_busy: [
    'as many attempts as one tenant may have are under way at its targets',
    'wait, or look which of them hangs; a platform admin can raise `tenantInFlight` of Settings',
  ],
  draining: [
    'others that waited for the same target go first, at its drain rate',
    'wait, or publish the target with a higher `drainPerSecond`',
  ],
  rate_limited: [
    "its connection has sent as much as the connector's rate limit allows for now",
    'wait; its turn comes',
  ],
  recovering: [
    'the database was restored, and nothing is sent before that is over',
    'end it with `waybill recover --release`',
  ],
  evidence_expired: [
    "the evidence of its connector's version has expired",
    'publish newer evidence of the version',
  ],
  instance_disabled: ['its instance is disabled', 'publish the instance as `enabled`'],
  connector_disabled: ['its connector is disabled', 'have a platform admin enable the connector'],
};

/** Why a delivery is held, and what releases it, by the word that its row holds. */
export function heldSentence(why: string): string {
  const [cause, remedy] = HELD[why] ?? [`it is held by ${why}`, 'remove the cause'];
  return `${cause}; to release it, ${remedy}`;
}

export function heldDetails(why: string, deliveryId: string): string {
  return `**Held**: ${heldSentence(why)}. Delivery \`${deliveryId}\` then goes on by itself.`;
}

/** Reasons of failing that another approval cures. */
export const APPROVED_NO_MORE: readonly string[] = ['approval_expired', 'approver_untrusted'];

export function failedDetails(
  answer: { readonly reason: string; readonly detail: string; readonly attempts: number },
  deliveryId: string,
  closesAtIso: string,
): string {
  const attempts = answer.attempts === 1 ? '1 attempt' : `${answer.attempts} attempts`;
  const failed = `**Failed** after ${attempts}: ${answer.detail} (\`${answer.reason}\`). `;
  if (answer.reason === 'uncertain') {
    return (
      failed +
      'It may have had its effect, so it is not sent again by itself. Look at the vendor; only if ' +
      `there is nothing, run \`waybill deliveries replay ${deliveryId} --confirm-uncertain ` +
      `--reason "why"\`, of the class external with \`--approval <token>\`. ` +
      `This page closes at ${closesAtIso}.`
    );
  }
  if (APPROVED_NO_MORE.includes(answer.reason)) {
    return (
      failed +
      'Have it approved anew, then run ' +
      `\`waybill deliveries replay ${deliveryId} --approval <token> --reason "why"\`. ` +
      `This page closes at ${closesAtIso}.`
    );
  }
  return (
    failed +
    'Repair the target, then send this workflow the signal `replay` ' +
    'with the input `{"by": "your name", "reason": "why"}`, ' +
    `or run \`waybill deliveries replay ${deliveryId} --reason "why"\`. ` +
    `This page closes at ${closesAtIso}; a replay is possible after that, too.`
  );
}

export function inFlightDetails(answer: Answer<'in_flight'>): string {
  return (
    `**Waits for attempt ${answer.attempt}** of an earlier run, which may still be under way; ` +
    `its deadline is in ${answer.endsInMs} ms. Nothing needs doing.`
  );
}

export function notDueDetails(dueAtIso: string): string {
  return `**Waits for its next attempt**, which is due at ${dueAtIso}. Nothing needs doing.`;
}

export function followingDetails(answer: Answer<'following'>, tenantId: TenantId): string {
  const { actionId, state, why } = answer;
  const page = actionWorkflowId({ tenantId, actionId });
  const remedy =
    state === 'needs_operator'
      ? 'A person has to say there what became of it'
      : 'Nothing needs doing here: the action tells of its end';
  return (
    `**Waits for its action** \`${actionId}\`, which is \`${state}\`: ${why}. ` +
    `${remedy}; see the workflow \`${page}\`.`
  );
}
