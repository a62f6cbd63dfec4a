/** The action workflow's activities, and what their ends without an answer mean. */
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  TimeoutFailure,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow';
import type {
  ActionActivities,
  ActionWorkflowInput,
  AskRequest,
  Asked,
  DispatchRequest,
  Dispatched,
} from '../domain/action-activities';
import type { Trouble } from './trouble';
import { troubleOf } from './trouble';

/** `never_taken`: no worker picked it up in time. `lost`: whatever it did, nobody heard of it. */
export type Ended<Answer> = Answer | Trouble | { readonly kind: 'never_taken' | 'lost' };

type Local =
  | ('nextStep' | 'settleAttempt' | 'cancelAction' | 'resolveAction')
  | ('approveAction' | 'denyAction');

/** Short and idempotent; a try that fails is made again at once a few times, then it is trouble. */
export function localActivities(): Pick<ActionActivities, Local> {
  return proxyLocalActivities<Pick<ActionActivities, Local>>({
    startToCloseTimeout: '10 seconds',
    localRetryThreshold: '5 seconds',
    retry: {
      initialInterval: '100 milliseconds',
      maximumInterval: '2 seconds',
      maximumAttempts: 5,
    },
  });
}

/** Sends once. Whether a lost answer may be asked for again is not for Temporal to say. */
export async function tryDispatch(
  input: ActionWorkflowInput,
  request: DispatchRequest,
): Promise<Ended<Dispatched>> {
  const { dispatchAction } = ordinary(input);
  return await ended(() => dispatchAction(request));
}

/** One fencing call. */
export async function tryAsk(
  input: ActionWorkflowInput,
  request: AskRequest,
): Promise<Ended<Asked>> {
  const { askHost } = ordinary(input);
  return await ended(() => askHost(request));
}

function ordinary(
  input: ActionWorkflowInput,
): Pick<ActionActivities, 'dispatchAction' | 'askHost'> {
  return proxyActivities<Pick<ActionActivities, 'dispatchAction' | 'askHost'>>({
    scheduleToStartTimeout: input.pickUpMs,
    // Longer than the longest time-out of a capability and the patience around it together.
    startToCloseTimeout: '11 minutes',
    heartbeatTimeout: input.heartbeatMs,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: 1 },
  });
}

async function ended<Answer>(call: () => Promise<Answer>): Promise<Ended<Answer>> {
  try {
    return await call();
  } catch (error) {
    if (isCancellation(error)) throw error;
    // A local activity's own failure comes without a wrapping.
    const cause = error instanceof ActivityFailure ? error.cause : error;
    if (!(error instanceof ActivityFailure) && !(error instanceof ApplicationFailure)) throw error;
    if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START') {
      return { kind: 'never_taken' };
    }
    return cause instanceof ApplicationFailure ? troubleOf(cause) : { kind: 'lost' };
  }
}

/** A local step; one that cannot be made is trouble, not the workflow's end. */
export async function tryLocal<Answer>(call: () => Promise<Answer>): Promise<Answer | Trouble> {
  const result = await ended(call);
  if (typeof result === 'object' && result !== null && 'kind' in result) {
    const kind = (result as { readonly kind: unknown }).kind;
    if (kind === 'lost' || kind === 'never_taken') {
      return { kind: 'trouble', code: 'internal', message: 'the step took too long' };
    }
  }
  return result as Answer | Trouble;
}
