/** Approvals that are waited for, for people and programs. */
import type { TenantId } from '../domain/ids';
import { WaitingApprovalRow } from '../schemas/api-approvals';
import type { Database, Statement } from './database';
import type { ActionPlace } from './lists';
import { readAsTenant, utc } from './lists';

export const approvalListStatements = {
  // One that has expired takes no decision, also before its workflow has noticed.
  waiting: {
    name: 'approval_list_waiting',
    text: `with page as materialized (
        select p.action_id, p.asked_at, p.expires_at from waybill.approvals p
          where p.tenant_id = $1 and p.state = 'asked' and p.expires_at > clock_timestamp()
            and p.asked_at >= coalesce($2::timestamptz, '-infinity')
            and ($2::timestamptz is null or (p.asked_at, p.action_id) > ($2, $3::text))
          order by p.asked_at, p.action_id limit $4)
      select a.action_id as "actionId", a.capability_id as "capabilityId",
          encode(a.request_sha256, 'hex') as "requestDigest", a.requested_by as "requestedBy",
          a.delivery_id as "deliveryId", a.policy_decision as "policyDecision",
          ${utc('page.asked_at')} as "askedAt", ${utc('page.expires_at')} as "expiresAt"
        from page join waybill.actions a on a.tenant_id = $1 and a.action_id = page.action_id
        order by page.asked_at, page.action_id`,
  },
} as const satisfies Record<string, Statement>;

/** Actions that wait for an approval, those asked about first, at most `limit`. */
export async function listWaitingApprovals(
  db: Database,
  {
    tenantId,
    after,
    limit,
  }: {
    readonly tenantId: TenantId;
    readonly after: ActionPlace | null;
    readonly limit: number;
  },
): Promise<WaitingApprovalRow[]> {
  const values = [tenantId, after?.at ?? null, after?.actionId ?? null, limit];
  const rows = await readAsTenant(db, tenantId, (run) =>
    run(approvalListStatements.waiting, values),
  );
  return rows.map((row) => WaitingApprovalRow.parse(row));
}
