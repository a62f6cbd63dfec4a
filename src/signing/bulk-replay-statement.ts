/** The signed statement of what came of a bulk replay (docs/architecture, "Bulk replay"). */
import { CompactSign, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { SKIP_REASONS, type BulkReplayCounts } from '../domain/bulk-replays';
import { signatureAlgorithm, type SigningKey } from './keys';
import { readSigned, type Reading, type SignedForm } from './receipts/read-signed';

/** Keeps it apart from other tokens that the same key signs. */
export const bulkReplayStatementType = 'waybill-bulk-replay';

export interface BulkReplayStatement {
  readonly iss: 'waybill';
  readonly v: 1;
  readonly tenant: string;
  readonly subject: `replay/${string}`;
  /** ISO 8601, the database's clock. */
  readonly at: string;
  readonly state: 'finished' | 'cancelled';
  readonly filter: Readonly<Record<string, unknown>>;
  readonly reason: string;
  readonly requestedBy: string;
  /** Null: nobody let it run. */
  readonly runBy: string | null;
  readonly counts: BulkReplayCounts;
}

const Count = z.int().nonnegative();

/** Strict, like a receipt's payload. */
const Statement: z.ZodType<BulkReplayStatement> = z.strictObject({
  iss: z.literal('waybill'),
  v: z.literal(1),
  tenant: z.string(),
  subject: z.templateLiteral(['replay/', z.string().min(1)]),
  at: z.iso.datetime({ offset: true }),
  state: z.enum(['finished', 'cancelled']),
  filter: z.record(z.string(), z.unknown()),
  reason: z.string(),
  requestedBy: z.string(),
  runBy: z.string().nullable(),
  counts: z.strictObject({
    planned: Count,
    replayed: Count,
    acknowledged: Count,
    failedAgain: Count,
    open: Count,
    skipped: z.partialRecord(z.enum(SKIP_REASONS), Count),
    left: Count,
  }),
});

const FORM: SignedForm<BulkReplayStatement> = {
  type: bulkReplayStatementType,
  schema: Statement,
  name: 'the statement of a bulk replay',
};

/**
 * Signs it as a compact JWS (EdDSA, with `kid` and `typ`), by the key of the receipts. Throws for a
 * statement that a verifier would refuse.
 */
export async function signBulkReplayStatement(
  statement: BulkReplayStatement,
  key: SigningKey,
): Promise<string> {
  return await new CompactSign(Buffer.from(JSON.stringify(Statement.parse(statement)), 'utf8'))
    .setProtectedHeader({ alg: signatureAlgorithm, kid: key.kid, typ: bulkReplayStatementType })
    .sign(key.privateKey);
}

/** Reads it with the public keys alone. Never throws for any text; throws where the key set is none. */
export async function readBulkReplayStatement(
  jws: string,
  jwks: JSONWebKeySet,
): Promise<Reading<BulkReplayStatement>> {
  return await readSigned(jws, createLocalJWKSet(jwks), FORM);
}
