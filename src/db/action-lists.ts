/** Reading actions for people and programs. */
import { z } from 'zod';
import type { ActionRef } from '../domain/action-service';
import type { TenantId } from '../domain/ids';
import { ActionDetailRow, ActionRow, type ActionFilters } from '../schemas/api-actions';
import { jsonOf } from '../schemas/json-bytes';
import type { Database, Row, Statement } from './database';
import type { ActionPlace } from './lists';
import { goesOn, readAsTenant, receiptChain, utc } from './lists';
import { attemptCount, attemptHistory, routeJson } from './route-lists';

export interface ActionListRequest {
  readonly tenantId: TenantId;
  readonly filters: ActionFilters;
  readonly after: ActionPlace | null;
  readonly limit: number;
}

const row = `
  a.action_id as "actionId", a.capability_id as "capabilityId", a.state, a.reason, a.detail,
  ${utc('a.waiting_since')} as "waitingSince", a.requested_by as "requestedBy",
  a.delivery_id as "deliveryId", a.cancel_requested_by as "cancelRequestedBy",
  encode(a.request_sha256, 'hex') as "requestDigest", ${utc('a.created_at')} as "createdAt",
  ${utc('a.closed_at')} as "closedAt", ${utc('a.deadline_at')} as "deadlineAt",
  a.retry_budget as "retryBudget", a.affinity_key as "affinityKey",
  case when a.progress_note is not null then jsonb_build_object('note', a.progress_note,
    'percent', a.progress_percent, 'at', ${utc('a.progress_at')}) end as progress,
  ${attemptCount('a')} as "attemptCount", waybill.action_result(a) as result`;

const matches = `a.tenant_id = $1
  and ($2::text is null or a.capability_id = $2)
  -- As the index for people says it.
  and ($3::boolean is not true or a.waiting_since is not null or a.state = 'needs_operator')
  and a.created_at >= coalesce($4::timestamptz, '-infinity')
  and a.created_at < coalesce($5::timestamptz, 'infinity')
  and ${goesOn({ at: 'a.created_at', id: 'a.action_id' }, 6)}`;

const APPROVAL = `(select jsonb_build_object('state', p.state, 'askedAt', ${utc('p.asked_at')},
    'expiresAt', ${utc('p.expires_at')}, 'decidedAt', ${utc('p.decided_at')},
    'decidedBy', p.decided_by, 'decidedVia', p.decided_via, 'reason', p.reason,
    'approvalId', a.approval_id, 'token', p.token)
  from waybill.approvals p where p.tenant_id = a.tenant_id and p.action_id = a.action_id)`;

const RECEIPTS = receiptChain('a.tenant_id', `'action/' || a.action_id`);

const newestFirst = 'order by a.created_at desc, a.action_id desc';

export const actionListStatements = {
  list: {
    name: 'action_list',
    text: pageText(`select a.tenant_id, a.action_id from waybill.actions a
      where ${matches} ${newestFirst} limit $8`),
  },
  // A page of each state, then of those: no state is searched for among all the others.
  listStates: {
    name: 'action_list_states',
    text: pageText(`select a.tenant_id, a.action_id
      from unnest($9::text[]) as wanted (state) cross join lateral (
        select a.tenant_id, a.action_id, a.created_at from waybill.actions a
          where a.state = wanted.state and ${matches} ${newestFirst} limit $8) a
      ${newestFirst} limit $8`),
  },
  show: {
    name: 'action_show',
    text: `select ${row}, null as "removedAt",
      (select ${routeJson} from waybill.routes r
        where r.tenant_id = a.tenant_id and r.action_id = a.action_id) as route,
      ${attemptHistory('a')} as attempts, ${RECEIPTS} as receipts, ${APPROVAL} as approval,
      a.policy_decision as "policyDecision",
      (select f.content from waybill.artifacts f join waybill.approvals p using (tenant_id)
        where f.tenant_id = a.tenant_id and f.sha256 = a.request_sha256
          and p.action_id = a.action_id) as "requestContent",
      (select f.content from waybill.artifacts f
        where f.tenant_id = a.tenant_id and f.sha256 = a.result_sha256) as "resultContent"
      from waybill.actions a where a.tenant_id = $1 and a.action_id = $2`,
  },
  // What is left of an action that is over, in the words of one that is there.
  showTombstone: {
    name: 'action_show_tombstone',
    text: `select ${row}, ${utc('b.buried_at')} as "removedAt", null as route, '[]'::jsonb as attempts,
        ${RECEIPTS} as receipts, null as approval, null as "policyDecision",
        null as "requestContent", null as "resultContent"
      from waybill.action_tombstones b cross join lateral waybill.buried_action(b) a
      where b.tenant_id = $1 and b.action_id = $2`,
  },
} as const satisfies Record<string, Statement>;

/** Actions that match every filter, newest first, at most `limit`. */
export async function listActions(db: Database, request: ActionListRequest): Promise<ActionRow[]> {
  const { tenantId, filters, after, limit } = request;
  const values = [
    tenantId,
    filters.capabilityId ?? null,
    filters.waiting ?? null,
    filters.from ?? null,
    filters.until ?? null,
    after?.at ?? null,
    after?.actionId ?? null,
    limit,
  ];
  const { list, listStates } = actionListStatements;
  const rows = await readAsTenant(db, tenantId, (run) =>
    filters.state === undefined ? run(list, values) : run(listStates, [...values, filters.state]),
  );
  return rows.map((found) => ActionRow.parse(found));
}

/** One action with its result, route and attempts, or what is left of it; null where there is neither. */
export async function showAction(db: Database, ref: ActionRef): Promise<ActionDetailRow | null> {
  const key = [ref.tenantId, ref.actionId];
  const [found] = await readAsTenant(db, ref.tenantId, async (run) => {
    const whole = await run(actionListStatements.show, key);
    return whole.length > 0 ? whole : await run(actionListStatements.showTombstone, key);
  });
  return found === undefined ? null : ActionDetailRow.parse(withContents(found));
}

const Stored = z.object({
  result: z.record(z.string(), z.unknown()).nullable(),
  resultContent: z.instanceof(Uint8Array).nullable(),
  approval: z.record(z.string(), z.unknown()).nullable(),
  requestContent: z.instanceof(Uint8Array).nullable(),
});

/** The result, and what is to be approved, with the JSON that their artifacts hold. */
function withContents(found: Row): Row {
  const { result, resultContent, approval, requestContent } = Stored.parse(found);
  // Null where there is no artifact, or none that is JSON: its digest still says what it was.
  return {
    ...found,
    result: result && { ...result, result: resultContent && jsonOf(resultContent) },
    approval: approval && { ...approval, request: requestContent && jsonOf(requestContent) },
  };
}

function pageText(keys: string): string {
  return `
with page as materialized (${keys})
select ${row} from page join waybill.actions a using (tenant_id, action_id)
  ${newestFirst}`;
}
