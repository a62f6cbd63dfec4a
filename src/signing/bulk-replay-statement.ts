/** The signed statement of what came of a bulk replay. */
import { CompactSign } from 'jose';
import type { BulkReplayCounts } from '../domain/bulk-replays';
import { signatureAlgorithm, type SigningKey } from './keys';

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

/** Signs it as a compact JWS (EdDSA, with `kid` and `typ`), by the key of the receipts. */
export async function signBulkReplayStatement(
  statement: BulkReplayStatement,
  key: SigningKey,
): Promise<string> {
  return await new CompactSign(Buffer.from(JSON.stringify(statement), 'utf8'))
    .setProtectedHeader({ alg: signatureAlgorithm, kid: key.kid, typ: bulkReplayStatementType })
    .sign(key.privateKey);
}
