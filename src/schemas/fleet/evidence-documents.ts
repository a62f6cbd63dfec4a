/** What signers say of connector versions, and whom the deployment trusts. */
import { z } from 'zod';
import {
  EvidenceKey,
  MAX_STATEMENT_LENGTH,
  readStatement,
  REQUIRABLE_KINDS,
} from '../evidence-statements';
import { Name } from '../names';

const Statement = z
  .string()
  .trim()
  .max(MAX_STATEMENT_LENGTH)
  .transform((jws, context) => {
    const read = readStatement(jws);
    if (!('problem' in read)) return read;
    context.addIssue({ code: 'custom', message: read.problem });
    return z.NEVER;
  });

/** A statement never changes: one id, one statement. */
export const EvidenceDocument = z.strictObject({
  kind: z.literal('Evidence'),
  id: Name,
  statement: Statement,
});
export type EvidenceDocument = z.infer<typeof EvidenceDocument>;

export const RequiredEvidence = z
  .array(z.enum(REQUIRABLE_KINDS))
  .transform((kinds) => [...new Set(kinds)].sort());

const MAX_SIGNERS = 100;

/** By name; null: whoever signed, counts. */
export const TrustedSigners = z
  .record(Name, EvidenceKey)
  .refine(
    (signers) => Object.keys(signers).length <= MAX_SIGNERS,
    `name at most ${MAX_SIGNERS} signers`,
  )
  .nullable();
