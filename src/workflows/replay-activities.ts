/** The activities of a bulk replay, and what their ends without an answer mean. */
import { ActivityFailure, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type {
  BulkReplayActivities,
  BulkReplayInput,
  BulkReplayRef,
  BulkReplayStep,
} from '../domain/bulk-replays';
import type { Trouble } from './trouble';
import { troubleOf } from './trouble';

export function bulkReplayActivities(input: BulkReplayInput): BulkReplayActivities {
  const { stepBulkReplay } = proxyActivities<Pick<BulkReplayActivities, 'stepBulkReplay'>>({
    // A step takes ten seconds, and what it has begun.
    startToCloseTimeout: '2 minutes',
    heartbeatTimeout: input.heartbeatMs,
    // The row says where to go on: the workflow asks again, and shows why it has to.
    retry: { maximumAttempts: 1 },
  });
  const { moveBulkReplay } = proxyActivities<Pick<BulkReplayActivities, 'moveBulkReplay'>>({
    startToCloseTimeout: '10 seconds',
    // Bounded: the operator is told, and can send the signal again.
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds', maximumAttempts: 10 },
  });
  return { stepBulkReplay, moveBulkReplay };
}

/** `lost`: its worker is; every step of a batch is a transaction of its own, so the next goes on. */
export async function tryStep(
  stepBulkReplay: BulkReplayActivities['stepBulkReplay'],
  ref: BulkReplayRef,
): Promise<BulkReplayStep | Trouble | { readonly kind: 'lost' }> {
  try {
    return await stepBulkReplay(ref);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return error.cause instanceof ApplicationFailure ? troubleOf(error.cause) : { kind: 'lost' };
  }
}
