/** Reading deliveries for people and programs. */
import type { DeliveryRef } from '../domain/delivery-activities';
import type { DeliveryId, TenantId } from '../domain/ids';
import { DeliveryHistoryRow, DeliveryRow } from '../schemas/api-deliveries';
import type { DeliveryFilters } from '../schemas/api-deliveries';
import type { Database, Statement } from './database';
import { goesOn, newest, receiptChain, readAsTenant, utc } from './lists';

/** The place in the list from which a page goes on: the last row of the page before. */
export interface ListPosition {
  /** In microseconds, exactly as the row showed it. */
  readonly receivedAt: string;
  readonly deliveryId: DeliveryId;
}

export interface ListRequest {
  readonly tenantId: TenantId;
  readonly filters: DeliveryFilters;
  readonly after: ListPosition | null;
  readonly limit: number;
}

const row = `
  d.delivery_id as "deliveryId", d.direction, d.connector_id as "connectorId",
  d.instance_id as "instanceId", d.subscription_id as "subscriptionId",
  d.external_id as "externalId", d.event_type as "eventType", d.state, d.reason, d.detail,
  d.uncertain, d.lane, d.driver,
  d.attempts, d.series, d.duplicate_of as "duplicateOf",
  d.readmitted_from as "readmittedFrom", d.conflict,
  encode(d.payload_sha256, 'hex') as "payloadSha256", d.payload_bytes as "payloadBytes",
  ${utc('d.received_at')} as "receivedAt", ${utc('d.settled_at')} as "settledAt",
  ${utc('d.next_attempt_at')} as "nextAttemptAt", ${utc('d.waiting_since')} as "waitingSince",
  case when d.receipt_seq > 0
    then format('delivery/%s/%s', d.delivery_id, d.receipt_seq) end as "receiptRef"`;

export const deliveryListStatements = {
  list: { name: 'delivery_list', text: pageText() },
  show: { name: 'delivery_show', text: historyText() },
} as const satisfies Record<string, Statement>;

/** Deliveries that match every filter, newest first, at most `limit`. */
export async function listDeliveries(db: Database, request: ListRequest): Promise<DeliveryRow[]> {
  const { filters, after } = request;
  const values = [
    request.tenantId,
    filters.direction ?? null,
    filters.connector ?? null,
    filters.subscription ?? null,
    filters.state ?? null,
    filters.receivedFrom ?? null,
    filters.receivedTo ?? null,
    filters.externalId ?? null,
    filters.reason ?? null,
    filters.eventType ?? null,
    after?.receivedAt ?? null,
    after?.deliveryId ?? null,
    request.limit,
  ];
  const rows = await readAsTenant(db, request.tenantId, (run) =>
    run(deliveryListStatements.list, values),
  );
  return rows.map((found) => DeliveryRow.parse(found));
}

/** One delivery with its attempts, receipts and replays; null when the tenant has none such. */
export async function showDelivery(
  db: Database,
  ref: DeliveryRef,
): Promise<DeliveryHistoryRow | null> {
  const [found] = await readAsTenant(db, ref.tenantId, (run) =>
    run(deliveryListStatements.show, [ref.tenantId, ref.deliveryId]),
  );
  return found === undefined ? null : DeliveryHistoryRow.parse(found);
}

function pageText(): string {
  return `
select ${row}
  from waybill.deliveries d
  where d.tenant_id = $1
    and ($2::text is null or d.direction = $2)
    and ($3::text is null or d.connector_id = $3)
    and ($4::text is null or d.subscription_id = $4)
    and ($5::text is null or d.state = $5)
    and d.received_at >= coalesce($6::timestamptz, '-infinity')
    and d.received_at < coalesce($7::timestamptz, 'infinity')
    and ($8::text is null or d.external_id = $8)
    and ($9::text is null or d.reason = $9)
    and ($10::text is null or d.event_type = $10)
    and ${goesOn({ at: 'd.received_at', id: 'd.delivery_id', idType: 'uuid' }, 11)}
  order by d.received_at desc, d.delivery_id desc
  limit $13`;
}

function historyText(): string {
  const attempts = newest('attempt', 'a.attempt_no', {
    columns: `a.attempt_no as attempt, a.series, a.owner, a.target_id as "targetId",
      ${utc('a.opened_at')} as "openedAt", ${utc('a.deadline_at')} as "deadlineAt",
      ${utc('a.closed_at')} as "closedAt", a.outcome, a.reason, a.detail, a.status,
      a.duration_ms as "durationMs", a.answer_sha256 as "answerSha256",
      a.answer_head as "answerHead", a.late_evidence as "lateEvidence"`,
    source: `waybill.delivery_attempts a
      where a.tenant_id = d.tenant_id and a.delivery_id = d.delivery_id`,
  });
  const receipts = receiptChain('d.tenant_id', `'delivery/' || d.delivery_id`);
  const replays = newest('series', 'l.audit_id', {
    columns: `${utc('l.at')} as "replayedAt", l.actor as "replayedBy",
      l.detail->>'reason' as reason, (l.detail->>'series')::integer as series`,
    source: `waybill.audit_log l
      where l.tenant_id = d.tenant_id and l.subject = 'delivery/' || d.delivery_id
        and l.action = 'replay'`,
  });
  return `
select ${row},
  d.content_type as "contentType", d.kept_headers as "keptHeaders", d.evidence, d.sending,
  ${attempts} as "attemptHistory", ${receipts} as receipts, ${replays} as replays
  from waybill.deliveries d
  where d.tenant_id = $1 and d.delivery_id = $2`;
}
