/** The loop of the express lane in Postgres: what waits for it, and claiming by opening attempts. */
import type { DeliveryAbout, DeliveryRef } from '../domain/delivery-activities';
import { deliveryId, tenantId, type TenantId } from '../domain/ids';
import { OpenAttemptAnswer, UnattendedDelivery } from '../schemas/delivery-rows';
import { ClaimedDelivery } from '../schemas/express-rows';
import type { Database, Statement } from './database';

export const expressStatements = {
  tenants: {
    name: 'express_tenants',
    text: 'select tenant from waybill.express_tenants($1, $2) as tenant',
  },
  claim: {
    name: 'express_claim',
    text: 'select * from waybill.claim_express($1, $2, $3)',
  },
  claimUnshown: {
    name: 'express_claim_unshown',
    text: 'select * from waybill.claim_unshown($1, $2)',
  },
} as const satisfies Record<string, Statement>;

/** One that the loop has asked an attempt for. */
export interface Claimed {
  readonly ref: DeliveryRef;
  /** What people see of its workflow, should it need one. */
  readonly about: DeliveryAbout;
  readonly opened: OpenAttemptAnswer;
}

/** Tenants for which something waits, by name, from behind `after` on (role operations). */
export async function expressTenants(
  db: Database,
  after: string,
  limit: number,
): Promise<TenantId[]> {
  const rows = await db.query(expressStatements.tenants, [after, limit]);
  return rows.map(({ tenant }) => tenantId(String(tenant)));
}

/** Opens the first attempts of up to `limit` of a tenant; see `waybill.claim_express`. */
export async function claimExpress(
  db: Database,
  tenant: TenantId,
  owner: string,
  limit: number,
): Promise<Claimed[]> {
  const rows = await db.query(expressStatements.claim, [tenant, owner, limit]);
  return rows.map((row) => {
    const claimed = ClaimedDelivery.parse(row);
    return {
      ref: { tenantId: tenant, deliveryId: deliveryId(claimed.delivery_id) },
      about: {
        connectorId: claimed.connector_id,
        eventType: claimed.event_type,
        subscriptionId: claimed.subscription_id,
      },
      opened: OpenAttemptAnswer.parse(row),
    };
  });
}

/** Failed ones whose workflow was not started in time, claimed for `pushMs` (role operations). */
export async function claimUnshown(
  db: Database,
  limit: number,
  pushMs: number,
): Promise<UnattendedDelivery[]> {
  const rows = await db.query(expressStatements.claimUnshown, [limit, pushMs]);
  return rows.map((row) => UnattendedDelivery.parse(row));
}
