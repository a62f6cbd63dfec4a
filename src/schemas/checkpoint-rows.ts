/** What the database answers about checkpoints and chains, parsed once at the edge of `src/db`. */
import { z } from 'zod';
import type { ChainHead } from '../domain/checkpoints';

const NextCheckpoint = {
  /** Its number. */
  no: z.int(),
  /** Of the one before; null: it is the first. */
  previousDigest: z.string().nullable(),
  /** The database's clock. */
  now: z.string(),
};

export const ChainHeadRow = z.object({
  subject: z.string(),
  seq: z.int(),
  digest: z.string(),
}) satisfies z.ZodType<ChainHead>;

export const ChainsToCheckpoint = z.object({ ...NextCheckpoint, leaves: z.array(ChainHeadRow) });
export type ChainsToCheckpoint = z.infer<typeof ChainsToCheckpoint>;

export const ReceiptsToPrune = z.object({
  ...NextCheckpoint,
  through: z.int(),
  throughDigest: z.string(),
});
export type ReceiptsToPrune = z.infer<typeof ReceiptsToPrune>;

/** One receipt among those of a tenant, which come chain by chain. */
export const StoredReceipt = z.object({ subject: z.string(), seq: z.int(), jws: z.string() });
export type StoredReceipt = z.infer<typeof StoredReceipt>;

export const StoredCheckpoint = z.object({
  no: z.int(),
  digest: z.string(),
  jws: z.string(),
  /** Empty where it tells of a removal. */
  leaves: z.array(ChainHeadRow),
});
export type StoredCheckpoint = z.infer<typeof StoredCheckpoint>;
