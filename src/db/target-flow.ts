/** Targets and subscriptions at work: pausing and resuming them, and what is known of each target. */
import type { SwitchWish } from '../domain/target-flow';
import { SUBSCRIPTION_SWITCHES, TARGET_SWITCHES } from '../domain/target-flow';
import { TargetStatus } from '../schemas/api-targets';
import { z } from 'zod';
import type { TenantId } from '../domain/ids';
import type { Database, Statement } from './database';
import { onlyRow } from './database';
import { readAsTenant, utc } from './lists';

/** So many of those that wait are counted; more is "at least". */
export const WAITING_COUNTED = 1000;

export const targetFlowStatements = {
  switchTarget: {
    name: 'target_switch',
    text: 'select waybill.switch_target($1, $2, $3, $4, $5) as answer',
  },
  switchSubscription: {
    name: 'subscription_switch',
    text: 'select waybill.switch_subscription($1, $2, $3, $4, $5) as answer',
  },
  list: {
    name: 'target_list',
    text: `select t.target_id as "targetId", t.kind, coalesce(s.breaker, 'closed') as breaker,
        coalesce(s.failures, 0) as failures, ${utc('s.open_until')} as "openUntil",
        ${utc('s.paused_at')} as "pausedAt", s.paused_by as "pausedBy",
        s.pause_reason as "pauseReason", t.drain_per_second::float8 as "drainPerSecond",
        t.max_in_flight as "maxInFlight", waybill.in_flight(t.tenant_id, t.target_id) as "inFlight",
        (select count(*)::integer from (select from waybill.deliveries d
          where d.tenant_id = t.tenant_id
            and d.gate in ('target/' || t.target_id, 'busy/' || t.target_id)
          limit ${WAITING_COUNTED}) w) as waiting
      from waybill.targets t left join waybill.target_states s using (tenant_id, target_id)
      where t.tenant_id = $1 and ($2::text is null or t.target_id > $2)
      order by t.target_id limit $3`,
  },
} as const satisfies Record<string, Statement>;

/** Pauses or resumes a target, with its audit entry; see `waybill.switch_target`. */
export async function switchTarget(
  db: Database,
  wish: SwitchWish,
): Promise<(typeof TARGET_SWITCHES)[number]> {
  const rows = await db.query(targetFlowStatements.switchTarget, values(wish));
  return z.enum(TARGET_SWITCHES).parse(onlyRow(rows)['answer']);
}

/** The same of a subscription, with its event; see `waybill.switch_subscription`. */
export async function switchSubscription(
  db: Database,
  wish: SwitchWish,
): Promise<(typeof SUBSCRIPTION_SWITCHES)[number]> {
  const rows = await db.query(targetFlowStatements.switchSubscription, values(wish));
  return z.enum(SUBSCRIPTION_SWITCHES).parse(onlyRow(rows)['answer']);
}

/** The tenant's targets by id, at most `limit` from behind `after` on. */
export async function listTargets(
  db: Database,
  request: { readonly tenantId: TenantId; readonly after: string | null; readonly limit: number },
): Promise<TargetStatus[]> {
  const { tenantId, after, limit } = request;
  const rows = await readAsTenant(db, tenantId, (run) =>
    run(targetFlowStatements.list, [tenantId, after, limit]),
  );
  return rows.map((row) => TargetStatus.parse(row));
}

function values({ tenantId, id, pause, actor, reason }: SwitchWish): unknown[] {
  return [tenantId, id, pause, actor, reason];
}
