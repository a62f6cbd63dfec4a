/** Rejected deliveries that are judged again, and what becomes of them. */
import type { DeliveryRef } from '../domain/delivery-activities';
import type { DeliveryId } from '../domain/ids';
import { ReadmitAnswer, RejectedAnswer } from '../schemas/rejected-requests';
import type { Database, Statement } from './database';
import { onlyRow } from './database';
import { fieldsOf, type VerifiedRequest } from './deliveries';

export const readmissionStatements = {
  read: {
    name: 'rejected_read',
    text: 'select answer, content from waybill.read_rejected($1, $2)',
  },
  readmit: {
    name: 'rejected_readmit',
    text: 'select waybill.readmit_delivery($1, $2, $3, $4) as answer',
  },
} as const satisfies Record<string, Statement>;

/** The bytes are there exactly when the answer is `kept`. */
export async function readRejected(
  db: Database,
  { tenantId, deliveryId }: DeliveryRef,
): Promise<{ readonly answer: RejectedAnswer; readonly content: Uint8Array | null }> {
  const row = onlyRow(await db.query(readmissionStatements.read, [tenantId, deliveryId]));
  const content = row['content'];
  return {
    answer: RejectedAnswer.parse(row['answer']),
    content: content instanceof Uint8Array ? content : null,
  };
}

/** Who readmits it and why. */
export interface Readmission {
  readonly readmittedBy: string;
  readonly reason: string;
}

/**
 * Makes a new delivery of the rejected one's stored bytes, judged as of its receipt; see
 * `waybill.readmit_delivery`.
 */
export async function readmitDelivery(
  db: Database,
  rejected: DeliveryId,
  request: VerifiedRequest,
  { readmittedBy, reason }: Readmission,
): Promise<ReadmitAnswer> {
  const rows = await db.query(readmissionStatements.readmit, [
    request.tenantId,
    rejected,
    request.deliveryId,
    JSON.stringify({ ...fieldsOf(request), by: readmittedBy, why: reason }),
  ]);
  return ReadmitAnswer.parse(onlyRow(rows)['answer']);
}
