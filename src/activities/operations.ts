/** The activities of upkeep: thin, over the services that do the work. */
import type { UpkeepActivities } from '../domain/upkeep';
import { retainReplays } from '../services/bulk-replay-retention';
import { checkpointReceipts, removeReceipts } from '../services/checkpoints';
import { retainDelivered } from '../services/delivery-retention';
import type { UpkeepServices } from '../services/upkeep';
import { auditCounters, forget, retain } from '../services/upkeep';
import { whileBeating } from './beating';

export function operationsActivities(services: UpkeepServices): UpkeepActivities {
  const { operations, differ } = services;
  return {
    retainActions: () => whileBeating(({ signal }) => retain(operations, signal)),
    auditCounters: () =>
      whileBeating(async () => {
        const { differences, more } = await auditCounters(operations);
        if (differences.length > 0) differ(differences);
        return { differences: differences.length, more };
      }),
    forgetExpired: () => whileBeating(({ signal }) => forget(operations, signal)),
    retainDeliveries: () =>
      whileBeating(async ({ signal }) => {
        const deliveries = await retainDelivered(operations, signal);
        const replays = await retainReplays(operations, signal);
        return { ...deliveries, ...replays, more: deliveries.more || replays.more };
      }),
    checkpointReceipts: () => whileBeating(({ signal }) => checkpointReceipts(services, signal)),
    removeReceipts: () => whileBeating(({ signal }) => removeReceipts(services, signal)),
  };
}
