/** Who may approve with a key of their own, as a fleet file says it. */
import { z } from 'zod';
import { Name } from '../names';
import { PeerDid } from './replica-documents';
import { Label } from './texts';

const MAX_APPROVERS = 100;

const sorted = (texts: readonly string[]) => [...new Set(texts)].sort();

const Approver = z.strictObject({
  keys: z.array(PeerDid).min(1, 'name at least one key').max(10).transform(sorted),
  /** Left out: every tenant. */
  tenants: z
    .array(Name)
    .max(1000)
    .transform(sorted)
    .optional()
    .transform((tenants) => tenants ?? null),
});

/** By name. A key speaks for one person: whoever holds it could else approve what they ask for. */
export const WrittenApprovers = z
  .record(Label, Approver)
  .refine(
    (approvers) => Object.keys(approvers).length <= MAX_APPROVERS,
    `name at most ${MAX_APPROVERS} approvers`,
  )
  .refine((approvers) => {
    const keys = Object.values(approvers).flatMap((approver) => approver.keys);
    return new Set(keys).size === keys.length;
  }, 'one key stands under two names');
