/** Reading bulk replays for people and programs. */
import type { BulkReplayRef, BulkReplayState } from '../domain/bulk-replays';
import type { TenantId } from '../domain/ids';
import {
  BulkReplayDetailRow,
  BulkReplayRow,
  ReplayItem,
  type ITEM_OUTCOMES,
} from '../schemas/api-bulk-replays';
import type { Database, Statement } from './database';
import { goesOn, readAsTenant, utc } from './lists';

const SAMPLE = 5;

const row = `
  j.job_id as "jobId", j.state, j.filter, j.reason, j.rate_per_second as "ratePerSecond",
  j.requested_by as "requestedBy", ${utc('j.created_at')} as "createdAt", j.planned, j.truncated,
  ${utc('j.oldest_at')} as "oldestAt", ${utc('j.newest_at')} as "newestAt", j.run_by as "runBy",
  ${utc('j.started_at')} as "startedAt", j.replayed, j.acknowledged,
  j.failed_again as "failedAgain", j.replayed - j.acknowledged - j.failed_again as open, j.skipped,
  j.planned - j.replayed
    - (select coalesce(sum(value::integer), 0)::integer from jsonb_each_text(j.skipped)) as left,
  j.moved_by as "movedBy", j.moved_why as "movedWhy", ${utc('j.finished_at')} as "finishedAt"`;

const itemOutcome = `case when i.outcome is null then 'pending'
  when i.outcome = 'skipped' then 'skipped' else coalesce(i.result, 'under_way') end`;

export const bulkReplayListStatements = {
  list: {
    name: 'bulk_replay_list',
    text: `
select ${row} from waybill.replay_jobs j
  where j.tenant_id = $1 and ($2::text is null or j.state = $2)
    and ${goesOn({ at: 'j.created_at', id: 'j.job_id', idType: 'uuid' }, 3)}
  order by j.created_at desc, j.job_id desc limit $5`,
  },
  show: { name: 'bulk_replay_show', text: detailText() },
  items: {
    name: 'bulk_replay_items',
    text: `
select i.position, i.delivery_id as "deliveryId", i.subscription_id as "subscriptionId",
    ${itemOutcome} as outcome, i.skipped_why as "skippedWhy", i.series
  from waybill.replay_items i
  where i.tenant_id = $1 and i.job_id = $2 and i.position > $3
    and ($4::text is null or ${itemOutcome} = $4)
  order by i.position limit $5`,
  },
} as const satisfies Record<string, Statement>;

/** A tenant's jobs, newest first. */
export async function listBulkReplays(
  db: Database,
  request: {
    readonly tenantId: TenantId;
    readonly state: BulkReplayState | null;
    readonly after: { readonly createdAt: string; readonly jobId: string } | null;
    readonly limit: number;
  },
): Promise<BulkReplayRow[]> {
  const { tenantId, state, after, limit } = request;
  const values = [tenantId, state, after?.createdAt ?? null, after?.jobId ?? null, limit];
  const rows = await readAsTenant(db, tenantId, (run) =>
    run(bulkReplayListStatements.list, values),
  );
  return rows.map((found) => BulkReplayRow.parse(found));
}

/** One job with a sample of its plan; null when the tenant has none such. */
export async function showBulkReplay(
  db: Database,
  { tenantId, jobId }: BulkReplayRef,
): Promise<BulkReplayDetailRow | null> {
  const [found] = await readAsTenant(db, tenantId, (run) =>
    run(bulkReplayListStatements.show, [tenantId, jobId]),
  );
  return found === undefined ? null : BulkReplayDetailRow.parse(found);
}

/** What a job has planned, oldest first, from behind a position on. */
export async function listReplayItems(
  db: Database,
  request: BulkReplayRef & {
    readonly outcome: (typeof ITEM_OUTCOMES)[number] | null;
    readonly after: number;
    readonly limit: number;
  },
): Promise<ReplayItem[]> {
  const { tenantId, jobId, outcome, after, limit } = request;
  const rows = await readAsTenant(db, tenantId, (run) =>
    run(bulkReplayListStatements.items, [tenantId, jobId, after, outcome, limit]),
  );
  return rows.map((found) => ReplayItem.parse(found));
}

function detailText(): string {
  return `
select ${row}, j.receipt,
  (select coalesce(jsonb_agg(to_jsonb(s) order by s.position), '[]'::jsonb) from (
    select i.position, d.delivery_id as "deliveryId", d.event_type as "eventType",
        d.subscription_id as "subscriptionId", d.state, d.reason,
        ${utc('d.received_at')} as "receivedAt"
      from waybill.replay_items i
      join waybill.deliveries d on d.tenant_id = i.tenant_id and d.delivery_id = i.delivery_id
      where i.tenant_id = j.tenant_id and i.job_id = j.job_id
      order by i.position limit ${SAMPLE}) s) as sample,
  -- Targets are replayed to beside each other: the one with the most takes the longest.
  (select coalesce(ceil(max(t.left) * 1000.0 / j.rate_per_second), 0)::bigint from (
    select count(*) as left from waybill.replay_items i
      join waybill.subscriptions s
        on s.tenant_id = i.tenant_id and s.subscription_id = i.subscription_id
      where i.tenant_id = j.tenant_id and i.job_id = j.job_id and i.outcome is null
      group by s.target_id) t) as "estimatedMs"
  from waybill.replay_jobs j
  where j.tenant_id = $1 and j.job_id = $2`;
}
