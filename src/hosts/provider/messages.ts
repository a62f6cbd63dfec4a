/** What the controlled provider is sent and answers. */
import { z } from 'zod';
import { Effect } from './ledger';

const Title = z.string().min(1).max(500);
const Reference = z.string().min(1).max(500).nullable().default(null);

export const TicketWish = z.strictObject({
  title: Title,
  reference: Reference,
  /** Under which it is done, noted with the effect. */
  approval: z.string().min(1).max(200).nullable().default(null),
});
export const JobWish = z.strictObject({
  title: Title,
  reference: Reference,
  durationMs: z.int().min(0).max(600_000),
});
export const Effects = z.object({ effects: z.array(Effect) });
/** The same id always reads the same. */
export const ProviderRecord = z.object({ id: z.string(), account: z.string(), value: z.string() });
export type ProviderRecord = z.infer<typeof ProviderRecord>;

export const LimitWish = z.strictObject({
  /** How many of the next effects are refused before anything is done. */
  count: z.int().min(0).max(1_000),
  /** For how long whoever is refused is to wait. */
  retryAfterS: z.int().min(0).max(3_600),
});
export type LimitWish = z.infer<typeof LimitWish>;

export const HoldWish = z.strictObject({
  /** How many effects are held after their commit, before their answer. */
  count: z.int().min(0).max(1_000),
});
