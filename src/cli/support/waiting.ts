/** One sentence on what a delivery waits for, and what to do about it. */
import { APPROVED_NO_MORE, heldSentence } from '../../domain/delivery-details';
import type { DeliveryHistory } from '../../schemas/api-deliveries';

export function waitsFor(delivery: DeliveryHistory): string {
  const { state, reason, detail, nextAttemptAt } = delivery;
  const why =
    detail === null || detail === '' ? (reason ?? 'unknown') : `${detail} (${reason ?? '?'})`;
  switch (state) {
    case 'Acknowledged':
      return `nothing: the ${delivery.direction === 'inbound' ? 'target' : 'vendor'} has acknowledged it`;
    case 'Deduplicated':
      return `nothing: it repeats ${delivery.duplicateOf ?? 'an earlier one'}, which was dispatched`;
    case 'Rejected':
      return `nothing: it was refused, ${why}, and never dispatched`;
    case 'Failed':
      if (delivery.uncertain) return doubted(delivery, why);
      if (APPROVED_NO_MORE.includes(reason ?? '')) return unapproved(delivery, why);
      return (
        `a person: ${why}. Repair the target, then run ` +
        `\`waybill deliveries replay ${delivery.deliveryId} --reason "why"\``
      );
    case 'Received':
    case 'Verified':
    case 'Dispatched':
    case 'Replayed':
      return liveWait(delivery, nextAttemptAt, why);
  }
}

function unapproved({ deliveryId }: DeliveryHistory, why: string): string {
  return (
    `a person: ${why}. Have it approved anew, then run ` +
    `\`waybill deliveries replay ${deliveryId} --approval <token> --reason "why"\``
  );
}

function doubted({ deliveryId, sending }: DeliveryHistory, why: string): string {
  const approval = sending?.sideEffect === 'external' ? ' --approval <token>' : '';
  return (
    `a person: ${why}. It may have had its effect: look at the vendor, and only if there is nothing, run ` +
    `\`waybill deliveries replay ${deliveryId} --confirm-uncertain${approval} --reason "why"\``
  );
}

function liveWait(delivery: DeliveryHistory, nextAttemptAt: string | null, why: string): string {
  const open = delivery.attemptHistory.find((attempt) => attempt.closedAt === null);
  if (delivery.reason === 'action_open') {
    return `the end of its action: ${delivery.detail ?? ''}. See \`waybill actions show\``;
  }
  if (open !== undefined) {
    return `the target's answer to attempt ${open.attempt}, until ${open.deadlineAt} at the latest`;
  }
  if (delivery.reason === 'held') return `a release: ${heldSentence(delivery.detail ?? 'paused')}`;
  if (nextAttemptAt !== null) {
    return `its next attempt, due at ${nextAttemptAt}: ${why}. Nothing needs doing`;
  }
  if (delivery.driver === 'loop') {
    return (
      'the loop of the express lane; see that `waybill worker` runs and serves the queue deliveries, ' +
      'and that its target and its tenant have room'
    );
  }
  return 'a worker that takes it on; see that `waybill worker` runs and is ready';
}
