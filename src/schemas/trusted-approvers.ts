/** Whom the deployment takes signed approvals from. */
import { z } from 'zod';

/** By the approver's name, which is theirs in tokens and API alike. */
export const TrustedApprovers = z.record(
  z.string(),
  z.object({
    /** did:keys, sorted: more than one while a key is replaced. */
    keys: z.array(z.string()),
    /** Sorted; null: every tenant. */
    tenants: z.array(z.string()).nullable(),
  }),
);
export type TrustedApprovers = z.infer<typeof TrustedApprovers>;
