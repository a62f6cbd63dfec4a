/** Failing a delivery before any attempt: nothing that could be tried can help it. */
import { failDelivery } from '../db/deliveries';
import type { FailureReason } from '../domain/attempts';
import type { AttemptAnswer, DeliveryRef } from '../domain/delivery-activities';
import type { SendingDoubt } from '../domain/sending-verdicts';
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
  const { reason, detail } = causeOf(found.info);
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

/** Whatever ends it: where an earlier attempt may have been taken, that is what people have to know first. */
function causeOf(info: Extract<OpenAttemptAnswer, { answer: 'must_fail' }>['info']): {
  readonly reason: FailureReason;
  readonly detail: string;
} {
  const reason = info.reason as FailureReason;
  if (reason === 'uncertain' && info.targetKind === 'outbound' && info.doubt !== null) {
    return { reason, detail: DOUBTS[info.doubt] };
  }
  const detail = IMPOSSIBLE[reason] ?? reason;
  if (!info.uncertain) return { reason, detail };
  return { reason: 'uncertain', detail: `${detail}; before that, it may have been sent` };
}

const DOUBTS: Readonly<Record<SendingDoubt, string>> = {
  restored:
    'the database was restored: it may have been sent since the backup, and the vendor knows no key of it',
  key_gone:
    'an attempt may have been taken, and its operation has no key any more by which the vendor knows repeats',
  request_changed:
    'an attempt may have been taken, and its operation or the configuration of its connection has changed ' +
    'since: the vendor would take it for another request',
  key_forgotten:
    'an attempt may have been taken, so long ago that the vendor need not know its key any more',
};

const IMPOSSIBLE: Partial<Record<FailureReason, string>> = {
  payload_unreadable: 'the stored bytes are missing or do not match their digest',
  subscription_deactivated: 'the subscription was deactivated',
  instance_revoked: 'the instance was revoked',
  connector_revoked: 'the connector version was revoked',
  deadline_exceeded: "its caller's time is over",
  grant_missing: 'the connection does not grant `tool` any more',
  operation_unknown: "the connector's version knows the operation no more",
  approval_missing: 'the operation is of the class external now, and nobody has approved it',
  approval_expired: 'its approval has expired',
  approver_untrusted: 'whoever has approved it, or the key that did, is not trusted any more',
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
