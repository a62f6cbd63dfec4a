/** Checkpoints and retention of receipts, over a pool of role `waybill_operations`. */
import type { ChainHead } from '../domain/checkpoints';
import { ChainsToCheckpoint, ReceiptsToPrune } from '../schemas/checkpoint-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const checkpointStatements = {
  tenants: {
    name: 'checkpoint_tenants',
    text: 'select tenant from waybill.receipt_tenants($1, $2) tenant',
  },
  chains: {
    name: 'checkpoint_chains',
    text: 'select waybill.chains_to_checkpoint($1, $2) as found',
  },
  append: {
    name: 'checkpoint_append',
    text: 'select waybill.append_checkpoint($1, $2, $3) as appended',
  },
  prunable: {
    name: 'checkpoint_prunable',
    text: 'select waybill.receipts_to_prune($1, $2) as found',
  },
  prune: {
    name: 'checkpoint_prune',
    text: 'select waybill.prune_receipts($1, $2, $3) as gone',
  },
} as const satisfies Record<string, Statement>;

/** A checkpoint as it is appended. */
export interface SignedCheckpoint {
  readonly no: number;
  readonly jws: string;
  readonly digest: string;
}

/** Tenants after this one that have receipts, in order; '' begins. */
export async function receiptTenants(
  db: Database,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await db.query(checkpointStatements.tenants, [after, limit]);
  return rows.map((row) => String(row['tenant']));
}

/** Closed chains that no checkpoint has yet, at most `limit`. */
export async function chainsToCheckpoint(
  db: Database,
  tenant: string,
  limit: number,
): Promise<ChainsToCheckpoint> {
  const rows = await db.query(checkpointStatements.chains, [tenant, limit]);
  return ChainsToCheckpoint.parse(onlyRow(rows)['found']);
}

/** False: another checkpoint was appended meanwhile, and nothing was written. */
export async function appendCheckpoint(
  db: Database,
  tenant: string,
  checkpoint: SignedCheckpoint,
  leaves: readonly ChainHead[],
): Promise<boolean> {
  const values = [tenant, JSON.stringify(checkpoint), JSON.stringify(leaves)];
  return onlyRow(await db.query(checkpointStatements.append, values))['appended'] === true;
}

/** Up to which checkpoint, at most `limit` of them, receipts may go; null: none may. */
export async function receiptsToPrune(
  db: Database,
  tenant: string,
  limit: number,
): Promise<ReceiptsToPrune | null> {
  const rows = await db.query(checkpointStatements.prunable, [tenant, limit]);
  return ReceiptsToPrune.nullable().parse(onlyRow(rows)['found']);
}

/** How many receipts went; null: another checkpoint was appended meanwhile, and nothing was removed. */
export async function pruneReceipts(
  db: Database,
  tenant: string,
  through: number,
  checkpoint: SignedCheckpoint,
): Promise<number | null> {
  const values = [tenant, through, JSON.stringify(checkpoint)];
  const gone = onlyRow(await db.query(checkpointStatements.prune, values))['gone'];
  return gone === null ? null : Number(gone);
}
