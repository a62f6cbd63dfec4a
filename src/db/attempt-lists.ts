/** Attempts that operators look at, by age: those that are open, and those nobody knows the end of. */
import type { TenantId } from '../domain/ids';
import { OperatorAttempt, type AttemptState } from '../schemas/api-route-operations';
import type { Database, Statement } from './database';
import type { ActionPlace } from './lists';
import { readAsTenant, utc } from './lists';

export interface AttemptListRequest {
  readonly tenantId: TenantId;
  readonly state: AttemptState;
  readonly after: ActionPlace | null;
  readonly limit: number;
}

/** Of a page of `(since, action_id, attempt_no)`. */
const columns = `
  select ${utc('page.since')} as since, a.action_id as "actionId", a.state as "actionState",
      a.capability_id as "capabilityId", a.reason, a.detail, r.instance_id as "instanceId",
      t.replica_id as "replicaId", t.attempt_no as "attemptNo", t.fence, t.probe,
      ${utc('t.deadline_at')} as "deadlineAt", t.settlement, t.cause
    from page
    join waybill.actions a on a.tenant_id = $1 and a.action_id = page.action_id
    join waybill.routes r on r.tenant_id = $1 and r.action_id = page.action_id
    join waybill.route_attempts t on t.tenant_id = $1 and t.action_id = page.action_id
      and t.attempt_no = page.attempt_no
    order by page.since, page.action_id`;

const goesOn = (at: string) => `
  and ${at} >= coalesce($2::timestamptz, '-infinity')
  and ($2::timestamptz is null or (${at}, action_id) > ($2, $3::text))
  order by ${at}, action_id limit $4`;

export const attemptListStatements = {
  open: {
    name: 'attempt_list_open',
    text: `with page as materialized (
      select opened_at as since, action_id, attempt_no from waybill.route_attempts
        where tenant_id = $1 and settled_at is null ${goesOn('opened_at')}) ${columns}`,
  },
  unknown: {
    name: 'attempt_list_unknown',
    text: `with doubted as materialized (
        select uncertain_since as since, action_id from waybill.actions
          where tenant_id = $1 and uncertain_since is not null ${goesOn('uncertain_since')}),
      page as materialized (
        select d.since, d.action_id, n.attempt_no from doubted d cross join lateral (
          select t.attempt_no from waybill.route_attempts t
            where t.tenant_id = $1 and t.action_id = d.action_id
            order by t.attempt_no desc limit 1) n) ${columns}`,
  },
} as const satisfies Record<string, Statement>;

/** Attempts in that state, the longest first, at most `limit`; of an action, its newest one. */
export async function listAttempts(
  db: Database,
  { tenantId, state, after, limit }: AttemptListRequest,
): Promise<OperatorAttempt[]> {
  const values = [tenantId, after?.at ?? null, after?.actionId ?? null, limit];
  const rows = await readAsTenant(db, tenantId, (run) => run(attemptListStatements[state], values));
  return rows.map((row) => OperatorAttempt.parse(row));
}
