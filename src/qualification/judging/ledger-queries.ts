/** The queries that the ledger of a soak rests on. Written for this alone, like those beside it. */

export const ACTIONS = `
  select a.tenant_id as tenant, a.action_id as "actionId", a.state, a.approval_id as approval,
    (select c.side_effect from waybill.capabilities c where c.capability_id = a.capability_id) as "sideEffect",
    (select count(*)::integer from waybill.route_attempts t where t.tenant_id = a.tenant_id
      and t.action_id = a.action_id and t.settled_at is null) as "openAttempts"
  from waybill.actions a`;

export const DELIVERIES = `
  select d.tenant_id as tenant, d.delivery_id::text as id, d.external_id as event, d.state,
    (select count(*)::integer from waybill.delivery_attempts t where t.tenant_id = d.tenant_id
      and t.delivery_id = d.delivery_id and t.closed_at is null) as "openAttempts"
  from waybill.deliveries d`;

export const RECEIPTS = `
  select tenant_id as tenant, subject, kind, jws from waybill.receipts order by tenant_id, subject, seq`;

export const EFFECTS = `
  select e.reference, p.approval from effects e left join approvals p on p.effect_id = e.id`;
