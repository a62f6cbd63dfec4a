/** Deliveries whose target is an action, in Postgres: the action they follow. */
import type { DeliveryRef } from '../domain/delivery-activities';
import { DeliveryAction } from '../schemas/delivery-rows';
import type { Database, Statement } from './database';

export const deliveryActionStatements = {
  find: {
    name: 'delivery_action_find',
    text: 'select action, result_head from waybill.delivery_action($1, $2)',
  },
  follow: {
    name: 'delivery_action_follow',
    text: 'select waybill.note_following($1, $2, $3, $4, $5)',
  },
} as const satisfies Record<string, Statement>;

export interface FoundAction {
  readonly action: DeliveryAction;
  /** The first bytes of its result; null: it has none. */
  readonly resultHead: Buffer | null;
}

/** The newest action that was started for the delivery; null: none was. */
export async function findDeliveryAction(
  db: Database,
  ref: DeliveryRef,
): Promise<FoundAction | null> {
  const [row] = await db.query(deliveryActionStatements.find, [ref.tenantId, ref.deliveryId]);
  if (row === undefined) return null;
  const head = row['result_head'];
  return {
    action: DeliveryAction.parse(row['action']),
    resultHead: Buffer.isBuffer(head) ? head : null,
  };
}

/** Writes that the open attempt waits for its action, why, and when it is looked after again. */
export async function noteFollowing(
  db: Database,
  at: DeliveryRef & { readonly attempt: number },
  wait: { readonly detail: string; readonly againInMs: number },
): Promise<void> {
  const { tenantId, deliveryId, attempt } = at;
  const values = [tenantId, deliveryId, attempt, wait.detail, wait.againInMs];
  await db.query(deliveryActionStatements.follow, values);
}
