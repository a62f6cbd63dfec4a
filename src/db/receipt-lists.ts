/** Reading receipts and checkpoints, for one tenant at a time. */
import type { TenantId } from '../domain/ids';
import { ReceiptEntry } from '../schemas/api-receipts';
import { StoredCheckpoint, StoredReceipt } from '../schemas/checkpoint-rows';
import type { Database, Statement } from './database';
import { readAsTenant, utc } from './lists';

/** A number that no chain reaches, so that an answer stays bounded. */
const MAX_CHAIN = 1000;

export const receiptListStatements = {
  chain: {
    name: 'receipt_chain',
    text: `select r.seq, r.kind, r.jws, r.digest, r.previous_digest as "previousDigest",
        ${utc('r.created_at')} as "createdAt"
      from waybill.receipts r where r.tenant_id = $1 and r.subject = $2
      order by r.seq limit ${MAX_CHAIN}`,
  },
  receipts: {
    name: 'receipt_page',
    text: `select r.subject, r.seq, r.jws from waybill.receipts r
      where r.tenant_id = $1 and (r.subject, r.seq) > ($2, $3) order by r.subject, r.seq limit $4`,
  },
  checkpoints: {
    name: 'receipt_checkpoints',
    text: `select c.checkpoint_no as no, c.digest, c.jws,
        (select coalesce(jsonb_agg(jsonb_build_object('subject', l.subject, 'seq', l.seq,
            'digest', l.digest) order by l.leaf_no), '[]') from waybill.checkpoint_leaves l
          where l.tenant_id = c.tenant_id and l.checkpoint_no = c.checkpoint_no) as leaves
      from waybill.receipt_checkpoints c where c.tenant_id = $1 and c.checkpoint_no > $2
      order by c.checkpoint_no limit $3`,
  },
} as const satisfies Record<string, Statement>;

/** The chain of one subject, oldest first; empty: there is none, or it was removed. */
export async function readChain(
  db: Database,
  tenantId: TenantId,
  subject: string,
): Promise<ReceiptEntry[]> {
  const rows = await readAsTenant(db, tenantId, (run) =>
    run(receiptListStatements.chain, [tenantId, subject]),
  );
  return rows.map((row) => ReceiptEntry.parse(row));
}

export interface ReceiptPlace {
  readonly subject: string;
  readonly seq: number;
}

/** Receipts after this one, chain by chain; at most `limit`. */
export async function receiptsAfter(
  db: Database,
  tenantId: TenantId,
  after: ReceiptPlace,
  limit: number,
): Promise<StoredReceipt[]> {
  const rows = await readAsTenant(db, tenantId, (run) =>
    run(receiptListStatements.receipts, [tenantId, after.subject, after.seq, limit]),
  );
  return rows.map((row) => StoredReceipt.parse(row));
}

/** Checkpoints after this one, with their leaves; at most `limit`. */
export async function checkpointsAfter(
  db: Database,
  tenantId: TenantId,
  after: number,
  limit: number,
): Promise<StoredCheckpoint[]> {
  const rows = await readAsTenant(db, tenantId, (run) =>
    run(receiptListStatements.checkpoints, [tenantId, after, limit]),
  );
  return rows.map((row) => StoredCheckpoint.parse(row));
}
