/** Sending in Postgres: the connection, storing what is sent, and reading what became of it. */
import type { DeliveryRef } from '../domain/delivery-activities';
import type { DeliveryId, TenantId } from '../domain/ids';
import {
  AcceptSendingAnswer,
  FoundConnection,
  SentRow,
  type Sending,
} from '../schemas/sending-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';
import { readAsTenant, utc } from './lists';

const sent = `
  select d.delivery_id as "deliveryId", d.connector_id as "connectorId",
      d.instance_id as "instanceId", d.event_type as operation, d.dedup_key as "idempotencyKey",
      d.sending, d.state, d.attempts, d.reason, d.detail, d.uncertain,
      ${utc('d.received_at')} as "acceptedAt", ${utc('d.settled_at')} as "settledAt",
      ${utc('d.next_attempt_at')} as "nextAttemptAt",
      case when d.settled_at is not null then (
        select jsonb_build_object('ref', format('delivery/%s/%s', d.delivery_id, r.seq), 'jws', r.jws)
          from waybill.receipts r where r.tenant_id = d.tenant_id
            and r.subject = 'delivery/' || d.delivery_id and r.seq = d.receipt_seq) end as receipt,
      a.status, a.answer_sha256 as "answerSha256", a.answer_head as "answerHead"
    from waybill.deliveries d
    left join waybill.delivery_attempts a on a.tenant_id = d.tenant_id
      and a.delivery_id = d.delivery_id and a.attempt_no = d.attempts
    where d.tenant_id = $1 and d.direction = 'outbound'`;

export const sendingStatements = {
  connection: {
    name: 'sending_connection',
    text: 'select waybill.find_connection($1, $2, $3, $4) as found',
  },
  accept: {
    name: 'sending_accept',
    text: 'select waybill.accept_sending($1, $2, $3, $4) as answer',
  },
  read: { name: 'sending_read', text: `${sent} and d.delivery_id = $2` },
  byKey: {
    name: 'sending_by_key',
    text: `${sent} and d.instance_id = $2 and d.dedup_key = $3`,
  },
} as const satisfies Record<string, Statement>;

/** The connection and the operation as they are now; null: the tenant has no such connection. */
export async function findConnection(
  db: Database,
  tenantId: TenantId,
  wanted: { readonly connectorId: string; readonly instanceId: string; readonly operation: string },
): Promise<FoundConnection | null> {
  const { connectorId, instanceId, operation } = wanted;
  const values = [tenantId, connectorId, instanceId, operation];
  const rows = await db.query(sendingStatements.connection, values);
  return FoundConnection.nullable().parse(onlyRow(rows)['found']);
}

export interface AcceptedSending {
  readonly connectorId: string;
  readonly instanceId: string;
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly contentType: string;
  readonly sending: Sending;
  /** How long whoever stores it has to start its workflow before a loop does. */
  readonly attendAfterMs: number;
}

/** Payload and row in one transaction, or the delivery of this key; see `waybill.accept_sending`. */
export async function acceptSending(
  db: Database,
  ref: DeliveryRef,
  fields: AcceptedSending,
  payload: Uint8Array,
): Promise<AcceptSendingAnswer> {
  const values = [ref.tenantId, ref.deliveryId, JSON.stringify(fields), payload];
  return AcceptSendingAnswer.parse(
    onlyRow(await db.query(sendingStatements.accept, values))['answer'],
  );
}

/** What became of something that was sent; null: the tenant has sent no such thing. */
export async function readSent(
  db: Database,
  tenantId: TenantId,
  which:
    | { readonly deliveryId: DeliveryId }
    | { readonly instanceId: string; readonly idempotencyKey: string },
): Promise<SentRow | null> {
  const [found] = await readAsTenant(db, tenantId, (run) =>
    'deliveryId' in which
      ? run(sendingStatements.read, [tenantId, which.deliveryId])
      : run(sendingStatements.byKey, [tenantId, which.instanceId, which.idempotencyKey]),
  );
  return found === undefined ? null : SentRow.parse(found);
}
