/** The activities of a bulk replay: thin, over the services that do the work. */
import type { BulkReplayActivities } from '../domain/bulk-replays';
import type { BulkReplayServices } from '../services/bulk-replays';
import { decideBulkMove, stepBulkReplay } from '../services/bulk-replays';
import { whileBeating } from './beating';

export function bulkReplayActivities(services: BulkReplayServices): BulkReplayActivities {
  return {
    stepBulkReplay: (ref) => whileBeating(({ signal }) => stepBulkReplay(services, ref, signal)),
    moveBulkReplay: (request) => whileBeating(() => decideBulkMove(services, request)),
  };
}
