/** The delivery workflow's activities, and what their ends without an answer mean. */
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  proxyActivities,
} from '@temporalio/workflow';
import type {
  AttemptAnswer,
  AttemptRequest,
  DeliveryActivities,
  DeliveryWorkflowInput,
} from '../domain/delivery-activities';
import type { Trouble } from './trouble';
import { troubleOf } from './trouble';

/**
 * `lost`: the activity ended without an answer (time-out, silent worker): its attempt's outcome is
 * unknown.
 */
export type Tried = AttemptAnswer | Trouble | { readonly kind: 'lost' };

export function deliveryActivities(input: DeliveryWorkflowInput): DeliveryActivities {
  const { attemptDelivery } = proxyActivities<Pick<DeliveryActivities, 'attemptDelivery'>>({
    // Longer than the longest target time-out and the patience of closing together.
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: input.heartbeatMs,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    // Whether a lost answer may be asked for again is for the row to say, not for Temporal.
    retry: { maximumAttempts: 1 },
  });
  const { replayDelivery } = proxyActivities<Pick<DeliveryActivities, 'replayDelivery'>>({
    startToCloseTimeout: '10 seconds',
    // Bounded: the operator is told, and can send the signal again.
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: 10 },
  });
  return { attemptDelivery, replayDelivery };
}

/** One attempt; an activity that ends without an answer is news about the delivery, not an error. */
export async function tryAttempt(
  attemptDelivery: DeliveryActivities['attemptDelivery'],
  request: AttemptRequest,
): Promise<Tried> {
  try {
    return await attemptDelivery(request);
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return error.cause instanceof ApplicationFailure ? troubleOf(error.cause) : { kind: 'lost' };
  }
}
