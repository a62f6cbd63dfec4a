/** The queries that the ledger of a soak rests on. Written for this alone, like those beside it. */

export const ACTIONS = `
  select a.tenant_id as tenant, a.action_id as "actionId", a.state, a.approval_id as approval,
    (select c.side_effect from waybill.capabilities c where c.capability_id = a.capability_id) as "sideEffect",
    (select count(*)::integer from waybill.route_attempts t where t.tenant_id = a.tenant_id
      and t.action_id = a.action_id and t.settled_at is null) as "openAttempts"
  from waybill.actions a`;

export const DELIVERIES = `
  select d.tenant_id as tenant, d.delivery_id::text as id, d.lane, d.external_id as event, d.state,
    t.open as "openAttempts", t.overlaps, t.foreign_to_loop as "foreignToLoop"
  from waybill.deliveries d cross join lateral (
    select count(*) filter (where t.closed_at is null)::integer as open,
        count(*) filter (where t.opened_at < t.before)::integer as overlaps,
        count(*) filter (where t.owner like 'express@%'
          and (t.attempt_no > 1 or d.lane <> 'express'))::integer as foreign_to_loop
      from (select t.*, max(coalesce(t.closed_at, 'infinity')) over (order by t.attempt_no
              rows between unbounded preceding and 1 preceding) as before
            from waybill.delivery_attempts t
            where t.tenant_id = d.tenant_id and t.delivery_id = d.delivery_id) t) t`;

/** Of the express lane, first attempts by whom. */
export const EXPRESS_FIRSTS = `
  select count(*)::integer as all, count(*) filter (where t.owner like 'express@%')::integer as "byLoop"
  from waybill.delivery_attempts t
    join waybill.deliveries d on d.tenant_id = t.tenant_id and d.delivery_id = t.delivery_id
  where d.lane = 'express' and t.attempt_no = 1`;

export const LANES_OF = `
  select coalesce(string_agg(distinct lane, ' ' order by lane), 'none') as text
  from waybill.deliveries where subscription_id = $1`;

export const RECEIPTS = `
  select tenant_id as tenant, subject, kind, jws from waybill.receipts order by tenant_id, subject, seq`;

export const EFFECTS = `
  select e.reference, p.approval from effects e left join approvals p on p.effect_id = e.id`;
