/** What the demo receiver tells of what it got. */
import { z } from 'zod';

export const ReceiverRecord = z.object({
  path: z.string(),
  deliveryId: z.string().nullable(),
  eventType: z.string().nullable(),
  attempt: z.int().nullable(),
  /** How many replays came before; 0 in the first series. */
  replay: z.int().nullable(),
  /** Whether the Standard Webhooks signature is of these bytes. */
  signature: z.enum(['verified', 'refused']),
  bytes: z.int(),
  sha256: z.string(),
  /** What was answered. */
  status: z.int(),
  at: z.iso.datetime(),
});
export type ReceiverRecord = z.infer<typeof ReceiverRecord>;

export const ReceiverRecords = z.object({ records: z.array(ReceiverRecord) });

/** How a path answers from now on; null: 200, as from the start. */
export const ReceiverAnswer = z.strictObject({
  path: z.string().startsWith('/'),
  status: z.int().min(200).max(599).nullable(),
});
export type ReceiverAnswer = z.infer<typeof ReceiverAnswer>;

export const RECORDS_PATH = '/control/records';
export const ANSWERS_PATH = '/control/answers';
