/** The API's hint to Temporal after a bulk replay was made or moved; a loop makes good what it missed. */
import type { Logger } from 'pino';
import type { HttpDeps } from '../http/deps';
import type { BulkReplayWorkflows } from '../temporal/bulk-replay-starter';

export function nudging(
  workflows: BulkReplayWorkflows,
  log: Logger,
): HttpDeps['bulkReplays']['nudge'] {
  return (ref) => {
    workflows.nudge(ref).catch((error: unknown) => {
      const err = error instanceof Error ? error.message : String(error);
      log.warn({ ...ref, err }, 'Temporal was not reached; a loop goes on with it');
    });
  };
}
