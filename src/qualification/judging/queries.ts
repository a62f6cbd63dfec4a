/** The queries that verdicts rest on. Written for this alone: they share nothing with the product's own. */

export const TERMINAL_RECEIPTS = ['action_completed', 'action_failed', 'action_cancelled'];

export const ACTION = `
  select a.state, a.reason, a.error_code as "errorCode",
    (select convert_from(b.content, 'utf8')::jsonb from waybill.artifacts b
      where b.tenant_id = a.tenant_id and b.sha256 = a.result_sha256) as result,
    (select r.replica_id from waybill.routes r
      where r.tenant_id = a.tenant_id and r.action_id = a.action_id) as replica,
    (select count(*) from waybill.routes r
      where r.tenant_id = a.tenant_id and r.action_id = a.action_id) as routes,
    count(t.attempt_no) as attempts,
    count(t.attempt_no) filter (where t.settled_at is null) as "openAttempts",
    count(distinct t.replica_id) as replicas
  from waybill.actions a
    left join waybill.route_attempts t on t.tenant_id = a.tenant_id and t.action_id = a.action_id
  where a.tenant_id = $1 and a.action_id = $2
  group by a.tenant_id, a.action_id`;

export const RESULTS = `
  select count(*) as n from waybill.actions
  where tenant_id = $1 and action_id = $2 and state = 'completed' and result_outcome = 'succeeded'
    and closed_at is not null and result_sha256 is not null`;

/** Of people, for this very request; what a decision says stands in the audit log, too, once. */
export const APPROVAL_REQUESTS = `
  select count(*) as n from waybill.approvals p
    join waybill.actions a on a.tenant_id = p.tenant_id and a.action_id = p.action_id
    join waybill.audit_log l on l.tenant_id = p.tenant_id and l.subject = 'action/' || p.action_id
      and l.action = 'action.approve'
  where p.tenant_id = $1 and p.action_id = $2 and p.state = 'approved' and p.decided_via = 'api'
    and p.asked_at < p.decided_at and p.decided_by <> a.requested_by
    and p.request_sha256 = a.request_sha256`;

export const APPROVAL = `
  select approval_id as text from waybill.actions
  where tenant_id = $1 and action_id = $2 and approval_id is not null`;

export const RECEIPTS = `
  select kind, jws from waybill.receipts where tenant_id = $1 and subject = $2 order by seq`;

export const REPLICAS = `
  select replica_id as replica, status, lease_ends_at > clock_timestamp() as leased,
    lease_ends_at::text as "leaseEndsAt", incarnation, capacity,
    active_assignments as "activeAssignments", unknown_failures as "unknownFailures",
    case when circuit_open_until is null then 'closed'
      when circuit_open_until > clock_timestamp() then 'open' else 'half_open' end as circuit
  from waybill.replicas order by replica_id`;

export const WRONG_REPLICA_COUNTERS = `
  select count(*) as n from waybill.replicas r
  where r.active_assignments <> (select count(*) from waybill.route_attempts t
    where t.settled_at is null and t.replica_id = r.replica_id)`;

export const WRONG_QUOTA_COUNTERS = `
  select count(*) as n from waybill.quota_counters q
  where q.held <> (select count(*) from waybill.route_attempts t, jsonb_array_elements(t.counters) c
    where t.settled_at is null and c->>'scope' = q.scope and c->>'key' = q.scope_key)`;

export const UNDER_WAY = `
  select (select count(*) from waybill.actions
      where closed_at is null and state not in ('awaiting_approval', 'needs_operator'))
    + (select count(*) from waybill.deliveries where settled_at is null) as n`;

export const REVISION = 'select max(revision) as n from waybill.catalog_revision';

export const CREDENTIAL = `
  select status as text from waybill.credential_revisions where instance_id = $1`;

export const VERSION_STATUS = `
  select status as text from waybill.connector_versions where connector_id = $1`;

/** How many there are of each state, for people. */
export const TOTALS = `
  select 'actions' as of, state, count(*) as n from waybill.actions group by state
  union all select lane || ' deliveries', state, count(*) from waybill.deliveries
    group by lane, state order by 1, 2`;

export const ROUTES = `
  select r.tenant_id as tenant, r.action_id as action, r.capability_id as capability,
    r.instance_id as instance, r.replica_id as replica, r.catalog_revision as "catalogRevision",
    r.credential_revision as "credentialRevision", r.generation, r.fence::text as fence,
    r.assigned_at::text as "assignedAt",
    coalesce(jsonb_agg(jsonb_build_object('no', t.attempt_no, 'incarnation', t.incarnation,
      'settlement', t.settlement, 'cause', t.cause) order by t.attempt_no)
      filter (where t.attempt_no is not null), '[]') as attempts
  from waybill.routes r
    left join waybill.route_attempts t on t.tenant_id = r.tenant_id and t.action_id = r.action_id
  group by r.tenant_id, r.action_id order by r.assigned_at desc limit 200`;

export const COUNTERS = `
  select scope, scope_key as key, held from waybill.quota_counters order by scope, scope_key`;

export const EFFECTS = 'select count(*) as n from effects where reference = $1';

export const CREATIONS = `
  select count(*) as n from audit join effects on effects.id = audit.effect_id
  where effects.reference = $1 and audit.operation = 'created'`;

export const EFFECTS_UNDER_APPROVAL = `
  select count(*) as n from approvals join effects on effects.id = approvals.effect_id
  where effects.reference = $1 and approvals.approval = $2`;

export const RECORD_READS = `
  select count(*) as n from record_reads
  where record_id = $1 and ($2::boolean is null or disclosed = $2)`;

export const ATTEMPTS = `
  select settlement, evidence from waybill.route_attempts
  where tenant_id = $1 and action_id = $2 order by attempt_no`;

export const DELIVERIES = `
  select d.delivery_id::text as id, d.lane, d.state,
    (select count(*) from waybill.delivery_attempts t where t.tenant_id = d.tenant_id
      and t.delivery_id = d.delivery_id and t.closed_at is null) as "openAttempts",
    (select count(*) from waybill.delivery_attempts t where t.tenant_id = d.tenant_id
      and t.delivery_id = d.delivery_id) as attempts,
    -- With one that is open, or was closed later.
    (select count(*) from waybill.delivery_attempts t
      join waybill.delivery_attempts b on b.tenant_id = t.tenant_id and b.delivery_id = t.delivery_id
        and b.attempt_no < t.attempt_no
      where t.tenant_id = d.tenant_id and t.delivery_id = d.delivery_id
        and coalesce(b.closed_at, 'infinity') > t.opened_at) as overlaps,
    coalesce((select case when t.owner like 'express@%' then 'loop' else 'workflow' end
      from waybill.delivery_attempts t where t.tenant_id = d.tenant_id
        and t.delivery_id = d.delivery_id and t.attempt_no = 1), 'nobody') as "firstBy"
  from waybill.deliveries d where d.external_id = $1 order by d.received_at`;
