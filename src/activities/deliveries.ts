/** The delivery workflow's activities: thin, over the services that do the work. */
import { Context } from '@temporalio/activity';
import type { DeliveryActivities } from '../domain/delivery-activities';
import type { AttemptServices } from '../services/attempt-services';
import { makeAttempt } from '../services/attempts';
import { decideReplay } from '../services/replays';
import { toFailure } from './failures';

export function deliveryActivities(services: AttemptServices): DeliveryActivities {
  return {
    attemptDelivery: (request) =>
      whileBeating(({ signal, owner }) =>
        makeAttempt(services, request, { owner, takeOver: request.takeOver, signal }),
      ),
    replayDelivery: ({ replayedBy, reason, ...ref }) =>
      whileBeating(() => decideReplay(services, ref, { replayedBy, reason })),
  };
}

interface ActivityRun {
  /** Aborted when the workflow or the worker gives the activity up. */
  readonly signal: AbortSignal;
  /** Who this is, for people who read an attempt's row. */
  readonly owner: string;
}

/**
 * Runs an activity's work with a heartbeat beside it, so that a worker that died is noticed within
 * the heartbeat time-out, not at the end of the longest call.
 */
async function whileBeating<Result>(work: (run: ActivityRun) => Promise<Result>): Promise<Result> {
  const context = Context.current();
  const { workflowExecution, heartbeatTimeoutMs } = context.info;
  const beat = setInterval(
    () => {
      context.heartbeat();
    },
    Math.max(100, (heartbeatTimeoutMs ?? 30_000) / 4),
  );
  try {
    const owner = `${workflowExecution?.runId ?? 'no-run'}@${String(process.pid)}`;
    return await work({ signal: context.cancellationSignal, owner });
  } catch (error) {
    throw toFailure(error);
  } finally {
    clearInterval(beat);
  }
}
