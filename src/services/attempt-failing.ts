/** Failing a delivery before any attempt: nothing that could be tried can help it. */
import { failDelivery } from '../db/deliveries';
import type { FailureReason } from '../domain/attempts';
import type { AttemptAnswer, DeliveryRef } from '../domain/delivery-activities';
import type { DeliveryFacts, OpenAttemptAnswer } from '../schemas/delivery-rows';
import type { AttemptServices } from './attempt-services';
import { countedAs } from './delivery-metrics';
import { commonData, nextReceipt, withReceipt } from './receipts';

/** A delivery that cannot be dispatched at all: failed with the reason, before any attempt. */
export async function failForGood(
  services: AttemptServices,
  ref: DeliveryRef,
  found: Extract<OpenAttemptAnswer, { answer: 'must_fail' }>,
): Promise<AttemptAnswer> {
  const reason = found.info.reason as FailureReason;
  const doubted = found.info.uncertain && reason !== 'uncertain';
  const doubt = doubted ? '; an earlier attempt may have had its effect' : '';
  const detail = `${IMPOSSIBLE[reason] ?? reason}${doubt}`;
  const answer = await withReceipt(
    found.info,
    (head) =>
      nextReceipt(services.signingKey, {
        ref,
        facts: head,
        atMs: Date.parse(head.now),
        body: {
          kind: 'failed',
          data: { ...commonData(ref, head), attempts: head.attempts, reason, lastStatus: null },
        },
      }),
    (receipt) => failDelivery(services.data, ref, { reason, detail }, receipt),
  );
  switch (answer.answer) {
    case 'failed':
      services.metrics?.reached('Failed', countedAs(ref, found.info));
      return { kind: 'failed', attempts: found.info.attempts, reason, detail };
    case 'not_live':
      return settled(answer.facts);
    case 'in_flight':
      return { kind: 'superseded', attempt: found.info.attempts };
    case 'unknown_delivery':
      return { kind: 'unknown_delivery' };
  }
}

const IMPOSSIBLE: Partial<Record<FailureReason, string>> = {
  payload_unreadable: 'the stored bytes are missing or do not match their digest',
  subscription_deactivated: 'the subscription was deactivated',
  instance_revoked: 'the instance was revoked',
  connector_revoked: 'the connector version was revoked',
  uncertain:
    'it may have been sent, and is not known to the vendor by a key: the database was restored, or the operation changed',
  deadline_exceeded: "its caller's time is over",
  grant_missing: 'the connection does not grant `tool` any more',
  operation_unknown: "the connector's version knows the operation no more",
  approval_missing: 'the operation is of the class external now, and nobody has approved it',
  action_conflict: "the affinity key of the connection's actions is taken by another one",
  workflow_not_allowed: 'the deployment does not let this workflow be started or signalled',
};

/** What is over already. */
export function settled(facts: DeliveryFacts): AttemptAnswer {
  return {
    kind: 'settled',
    state: facts.state,
    attempts: facts.attempts,
    reason: facts.reason ?? '',
    detail: facts.detail ?? '',
  };
}
