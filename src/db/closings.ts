/** Closing several attempts of a tenant in one statement. */
import { z } from 'zod';
import type { DeliveryRef } from '../domain/delivery-activities';
import type { TenantId } from '../domain/ids';
import type { ReceiptRow } from '../domain/receipts';
import { CloseAttemptAnswer } from '../schemas/delivery-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';
import type { AttemptClose } from './deliveries';

export const closingStatements = {
  closeAll: {
    name: 'attempts_close',
    text: 'select waybill.close_attempts($1, $2) as answers',
  },
} as const satisfies Record<string, Statement>;

const CloseAttemptAnswers = z.array(CloseAttemptAnswer);

export interface ClosingAttempt {
  readonly at: DeliveryRef & { readonly attempt: number };
  readonly close: AttemptClose;
  /** Null where the delivery goes on. */
  readonly receipt: ReceiptRow | null;
}

/**
 * Closes each as `closeAttempt` does, all of them or none; the answers are in their order.
 * @param closings of this tenant
 */
export async function closeAttempts(
  db: Database,
  tenant: TenantId,
  closings: readonly ClosingAttempt[],
): Promise<CloseAttemptAnswer[]> {
  const items = closings.map(({ at: { deliveryId, attempt }, close, receipt }) => {
    return { deliveryId, attempt, close, receipt };
  });
  const rows = await db.query(closingStatements.closeAll, [tenant, JSON.stringify(items)]);
  return CloseAttemptAnswers.parse(onlyRow(rows)['answers']);
}
