/** Retention of deliveries, over a pool of role `waybill_operations`. One batch a statement. */
import { ForgottenCounts } from '../schemas/delivery-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const deliveryRetentionStatements = {
  tenants: {
    name: 'retention_tenants',
    text: 'select tenant from waybill.delivery_tenants($1, $2) tenant',
  },
  payloads: {
    name: 'retention_payloads',
    text: 'select waybill.retain_payloads($1, $2, $3) as gone',
  },
  deliveries: {
    name: 'retention_deliveries',
    text: 'select waybill.retain_deliveries($1, $2, $3) as gone',
  },
  forgetExpired: {
    name: 'delivery_forget_expired',
    text: 'select waybill.forget_expired($1) as forgotten',
  },
} as const satisfies Record<string, Statement>;

/** Tenants after this one that have deliveries, in order; '' begins. */
export async function deliveryTenants(
  db: Database,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await db.query(deliveryRetentionStatements.tenants, [after, limit]);
  return rows.map((row) => String(row['tenant']));
}

export interface RetentionBatch {
  readonly tenant: string;
  /** One in which a delivery is settled. */
  readonly state: 'Acknowledged' | 'Failed' | 'Deduplicated' | 'Rejected';
  readonly limit: number;
}

/** Lets go of payloads whose time is over; how many deliveries it has looked at. */
export async function retainPayloads(db: Database, batch: RetentionBatch): Promise<number> {
  const values = [batch.tenant, batch.state, batch.limit];
  return Number(onlyRow(await db.query(deliveryRetentionStatements.payloads, values))['gone']);
}

/** Removes deliveries whose time is over, with everything of theirs but receipts and audit. */
export async function retainDeliveries(db: Database, batch: RetentionBatch): Promise<number> {
  const values = [batch.tenant, batch.state, batch.limit];
  return Number(onlyRow(await db.query(deliveryRetentionStatements.deliveries, values))['gone']);
}

/**
 * Forgets up to `limit` rejected payloads and as many expired dedup keys and idempotency keys (role operations); true when
 * there may be more.
 */
export async function forgetExpired(db: Database, limit: number): Promise<boolean> {
  const rows = await db.query(deliveryRetentionStatements.forgetExpired, [limit]);
  const counts = ForgottenCounts.parse(onlyRow(rows)['forgotten']);
  return Object.values(counts).includes(limit);
}
