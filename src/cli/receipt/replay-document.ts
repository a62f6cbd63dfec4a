/**
 * A bulk replay's page as JSON beside its signed statement. Whoever alters the page leaves the
 * statement whole, so what is signed decides, and what the page says beside it must say the same.
 */
import { isDeepStrictEqual } from 'node:util';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import {
  readBulkReplayStatement,
  type BulkReplayStatement,
} from '../../signing/bulk-replay-statement';
import type { SignedProblemCode } from '../../signing/receipts/read-signed';

const counts = {
  planned: z.number().optional(),
  replayed: z.number().optional(),
  acknowledged: z.number().optional(),
  failedAgain: z.number().optional(),
  open: z.number().optional(),
  skipped: z.record(z.string(), z.number()).optional(),
  left: z.number().optional(),
};

/** What is compared; everything else of the page is not signed, and not looked at. */
export const ReplayDocument = z.object({
  jobId: z.string().optional(),
  state: z.string().optional(),
  filter: z.record(z.string(), z.unknown()).optional(),
  reason: z.string().optional(),
  requestedBy: z.string().optional(),
  runBy: z.string().nullable().optional(),
  ...counts,
  /** Null: the job is not over. */
  receipt: z.string().nullable(),
});
export type ReplayDocument = z.infer<typeof ReplayDocument>;

export interface ReplayProblem {
  readonly code: SignedProblemCode | 'not_over' | 'document_mismatch';
  readonly detail: string;
}

export interface ReplayVerdict {
  readonly ok: boolean;
  readonly problems: readonly ReplayProblem[];
  /** Null: it does not verify. */
  readonly statement: BulkReplayStatement | null;
}

/** Throws where the key set itself is none. */
export async function verifyReplay(
  document: ReplayDocument,
  jwks: JSONWebKeySet,
): Promise<ReplayVerdict> {
  if (document.receipt === null) {
    const detail = 'the bulk replay is not over: nothing is signed yet';
    return { ok: false, problems: [{ code: 'not_over', detail }], statement: null };
  }
  const reading = await readBulkReplayStatement(document.receipt, jwks);
  if (!reading.ok) {
    const { code, detail } = reading;
    return { ok: false, problems: [{ code, detail }], statement: null };
  }
  const problems = differences(document, reading.payload);
  return { ok: problems.length === 0, problems, statement: reading.payload };
}

function differences(document: ReplayDocument, statement: BulkReplayStatement): ReplayProblem[] {
  const { jobId, state, filter, reason, requestedBy, runBy } = document;
  const pairs: (readonly [field: string, said: unknown, proven: unknown])[] = [
    ['jobId', jobId, statement.subject.slice('replay/'.length)],
    ['state', state, statement.state],
    ['filter', filter, statement.filter],
    ['reason', reason, statement.reason],
    ['requestedBy', requestedBy, statement.requestedBy],
    ['runBy', runBy, statement.runBy],
  ];
  for (const field of Object.keys(counts) as (keyof typeof counts)[]) {
    pairs.push([field, document[field], statement.counts[field]]);
  }
  return pairs
    .filter(([, said, proven]) => said !== undefined && !isDeepStrictEqual(said, proven))
    .map(([field]) => ({
      code: 'document_mismatch',
      detail: `${field} of the page is not what the statement says`,
    }));
}
