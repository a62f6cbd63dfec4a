/** Readmission of rejected deliveries as the API takes and answers it. */
import { z } from 'zod';
import { MAX_REPLAY_REASON } from '../domain/replay-requests';
import { reasonText } from './api-common';

export const ReadmitBody = z.strictObject({
  reason: reasonText(MAX_REPLAY_REASON).describe('Why it is readmitted; kept in the audit log.'),
});

export const Readmitted = z
  .object({
    outcome: z
      .enum(['accepted', 'duplicate', 'conflict', 'ignored', 'already_readmitted'])
      .describe(
        'accepted: a new delivery of the same bytes. duplicate, conflict: its id was seen meanwhile. ' +
          'ignored: it is a handshake, or of an event type that the subscription does not take; nothing was stored. ' +
          'already_readmitted: an earlier call did it.',
      ),
    deliveryId: z.uuid().nullable().describe('The new delivery; null where nothing was stored.'),
  })
  .meta({ id: 'Readmitted' });
export type Readmitted = z.infer<typeof Readmitted>;
