/** Subscriptions as their tenant sees them, and waking what is pending of those that have ended. */
import type { TenantId } from '../domain/ids';
import { SubscriptionFacts } from '../schemas/api-subscriptions';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const subscriptionStatements = {
  read: {
    name: 'subscription_read',
    text: 'select facts from waybill.read_subscriptions($1, $2, $3, $4) as facts',
  },
  wakeEnded: { name: 'subscription_wake_ended', text: 'select waybill.wake_ended($1) as woken' },
} as const satisfies Record<string, Statement>;

/** The tenant's subscriptions by id, at most `limit` from behind `after` on. */
export async function listSubscriptions(
  db: Database,
  request: { readonly tenantId: TenantId; readonly after: string | null; readonly limit: number },
): Promise<SubscriptionFacts[]> {
  const values = [request.tenantId, null, request.after, request.limit];
  const rows = await db.query(subscriptionStatements.read, values);
  return rows.map(({ facts }) => SubscriptionFacts.parse(facts));
}

/** One of them; null when the tenant has none such. */
export async function showSubscription(
  db: Database,
  tenantId: TenantId,
  subscriptionId: string,
): Promise<SubscriptionFacts | null> {
  const [row] = await db.query(subscriptionStatements.read, [tenantId, subscriptionId, null, 1]);
  return row === undefined ? null : SubscriptionFacts.parse(row['facts']);
}

/** Has up to `limit` pending deliveries of ended subscriptions looked at now (role operations). */
export async function wakeEnded(db: Database, limit: number): Promise<number> {
  return Number(onlyRow(await db.query(subscriptionStatements.wakeEnded, [limit]))['woken']);
}
