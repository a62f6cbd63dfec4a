-- Actions, their routes and attempts, the counters that attempts hold, and the guard of the action's
-- state machine.

create function waybill.action_may_follow(p_from text, p_to text) returns boolean
  language sql immutable parallel safe
  return case p_from
    when 'requested' then p_to in ('awaiting_approval', 'reserved', 'cancelled', 'failed')
    when 'awaiting_approval' then p_to in ('requested', 'failed', 'cancelled')
    when 'reserved' then p_to in ('dispatching', 'requested', 'unknown', 'cancelled')
    when 'dispatching' then p_to in ('completed', 'failed', 'requested', 'cancelling', 'unknown')
    when 'cancelling' then p_to in ('cancelled', 'completed', 'failed', 'unknown')
    when 'unknown' then p_to = 'reconciling'
    when 'reconciling' then p_to in ('completed', 'failed', 'cancelled', 'requested', 'needs_operator')
    when 'needs_operator' then p_to in ('completed', 'failed', 'cancelled', 'requested')
    else false
  end;

create table waybill.actions (
  tenant_id text not null,
  action_id text not null check (length(action_id) between 1 and 200),
  capability_id text not null,
  -- SHA-256 of the request's canonical bytes, which are an artifact.
  request_sha256 bytea not null check (length(request_sha256) = 32),
  state text not null check (state in ('requested', 'awaiting_approval', 'reserved', 'dispatching',
    'cancelling', 'unknown', 'reconciling', 'needs_operator', 'completed', 'failed', 'cancelled')),
  -- Grows with every change of state.
  version integer not null default 1,
  affinity_key text,
  requested_by text not null,
  retry_budget integer not null check (retry_budget >= 0),
  deadline_at timestamptz not null,
  -- What became of it, written once.
  result_outcome text check (result_outcome in ('succeeded', 'failed', 'cancelled')),
  result_sha256 bytea check (length(result_sha256) = 32),
  error_code text,
  -- Why it is where it is, for people; null while nothing is wrong.
  reason text,
  detail text,
  -- Since when it waits for time or a person; null while it moves by itself.
  waiting_since timestamptz,
  -- By then a loop makes sure that a workflow attends to it; null once it is closed.
  attend_at timestamptz,
  event_seq integer not null default 0,
  receipt_seq integer not null default 0,
  receipt_digest text,
  created_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz,
  -- A request was sent and what became of it is not known.
  uncertain boolean not null default false,
  -- Uncertain, and doing it again is safe and finds out: it may be reserved while it is reconciled.
  repeatable boolean not null default false,
  -- The host's memory that the action was first sent to: whoever has another one knows nothing of it.
  store_epoch text,
  last_sent_at timestamptz,
  -- A person is certain that what was begun had no effect: its host is told to begin anew.
  begin_anew boolean not null default false,
  -- Attempts up to this one are not counted: a person has given the action a new budget.
  budget_from integer not null default 0,
  cancel_requested_at timestamptz,
  cancel_requested_by text,
  -- The delivery whose target it is; null: a dispatcher has started it.
  delivery_id uuid,
  -- Since when nobody knows what became of it: the age by which operators look.
  uncertain_since timestamptz,
  -- The approval under which it may be sent, once that is given.
  approval_id text,
  -- What the caller's policy has said of it, as given: {id, decision, policy}.
  policy_decision jsonb,
  -- What its host said last of how far it is, while it is open; for people.
  progress_note text check (length(progress_note) <= 500),
  progress_percent smallint check (progress_percent between 0 and 100),
  progress_at timestamptz,
  primary key (tenant_id, action_id),
  constraint actions_closed check
    ((closed_at is not null) = (state in ('completed', 'failed', 'cancelled'))),
  constraint actions_attended check ((attend_at is null) = (closed_at is not null)),
  -- A result may be there before the state follows, never the other way round, nor another one.
  constraint actions_result check (case state
    when 'completed' then result_outcome is not distinct from 'succeeded'
    when 'failed' then result_outcome is not distinct from 'failed'
    when 'cancelled' then result_outcome is not distinct from 'cancelled'
    else true end)
) with (fillfactor = 70);
create index actions_by_time on waybill.actions (tenant_id, created_at desc, action_id desc);
create index actions_waiting on waybill.actions (tenant_id, waiting_since) where waiting_since is not null;
create index actions_to_attend on waybill.actions (attend_at) where attend_at is not null;

create function waybill.guard_action_state() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    raise exception 'an action cannot be born %', new.state using errcode = 'WB001';
  end if;
  if not waybill.action_may_follow(old.state, new.state) then
    raise exception 'action %: % cannot follow %', old.action_id, new.state, old.state
      using errcode = 'WB001';
  end if;
  return new;
end
$$;
create trigger actions_birth before insert on waybill.actions for each row
  when (new.state <> 'requested') execute function waybill.guard_action_state();
create trigger actions_transition before update of state on waybill.actions for each row
  when (old.state is distinct from new.state) execute function waybill.guard_action_state();

-- The immutable assignment. No foreign keys to what changes: reserving has checked it. `fence` alone
-- moves, and only up.
create table waybill.routes (
  tenant_id text not null,
  action_id text not null,
  capability_id text not null,
  connector_id text not null,
  instance_id text not null,
  version text not null,
  manifest_digest text not null,
  replica_id text not null,
  endpoint text not null,
  peer_principal_id text not null,
  peer_principal_kind text not null,
  peer_did text not null,
  trust_domain text not null,
  transport_profile text not null,
  region text not null,
  zone text not null,
  capacity_class text not null,
  catalog_revision bigint not null,
  binding_policy_revision bigint not null,
  credential_revision text not null,
  quota_policy_id text,
  assigned_at timestamptz not null default clock_timestamp(),
  -- The highest that was given out, to an attempt or to a fencing call.
  fence bigint not null,
  -- The first route of an action is 1; an operator who moves it begins the next one.
  generation integer not null default 1,
  -- Since when nothing is reserved on it any more: the next reservation chooses anew.
  retired_at timestamptz,
  primary key (tenant_id, action_id),
  foreign key (tenant_id, action_id) references waybill.actions
) with (fillfactor = 80);

-- A route never changes but for its fence, which only grows. An operator may retire it, and then the next
-- generation replaces it, only where it is kept.
create function waybill.guard_route() returns trigger language plpgsql as $$
declare
  v_fixed text[] := case when old.retired_at is null then array['fence', 'retired_at'] else array['fence'] end;
begin
  if new.fence >= old.fence and (to_jsonb(old) - 'fence') = (to_jsonb(new) - 'fence') then return new; end if;
  if exists (select from waybill.retired_routes k where k.tenant_id = old.tenant_id
      and k.action_id = old.action_id and k.generation = old.generation)
     and (((to_jsonb(old) - v_fixed) = (to_jsonb(new) - v_fixed) and new.fence >= old.fence)
       or (old.retired_at is not null and new.retired_at is null and new.fence > old.fence
         and new.generation = old.generation + 1 and new.capability_id = old.capability_id)) then
    return new;
  end if;
  raise exception 'the route of action % is immutable', old.action_id using errcode = 'WB002';
end
$$;
create trigger routes_immutable before update on waybill.routes for each row
  execute function waybill.guard_route();

create table waybill.route_attempts (
  tenant_id text not null,
  action_id text not null,
  attempt_no integer not null check (attempt_no >= 1),
  owner text not null,
  fence bigint not null,
  replica_id text not null,
  incarnation bigint not null,
  health_revision bigint not null,
  probe boolean not null,
  -- The counter rows it took, in the order of taking: [{"scope", "key"}, …].
  counters jsonb not null,
  opened_at timestamptz not null default clock_timestamp(),
  deadline_at timestamptz not null,
  settled_at timestamptz,
  settlement text check (settlement in
    ('completed', 'outcome_unknown', 'cancelled', 'lease_expired', 'not_started')),
  -- Of an unknown outcome: host | ours; of an expired lease: deadline | replica_lease | offline |
  -- incarnation.
  cause text check (cause in ('host', 'ours', 'deadline', 'replica_lease', 'offline', 'incarnation')),
  evidence jsonb,
  -- What came after it was settled otherwise, the first ten.
  late_evidence jsonb not null default '[]'::jsonb,
  primary key (tenant_id, action_id, attempt_no),
  unique (tenant_id, action_id, fence),
  foreign key (tenant_id, action_id) references waybill.routes,
  constraint route_attempts_settled check ((settled_at is null) = (settlement is null))
) with (fillfactor = 70);
create unique index route_attempts_one_open on waybill.route_attempts (tenant_id, action_id)
  where settled_at is null;
create index route_attempts_overdue on waybill.route_attempts (deadline_at) where settled_at is null;
create index route_attempts_by_replica on waybill.route_attempts (replica_id) where settled_at is null;

-- Reservations held, by scope. The key begins with the tenant where the scope belongs to one:
-- binding tenant/instance/capability, instance tenant/instance, connector connector, tenant and
-- tenant_retry tenant, global '*'.
create table waybill.quota_counters (
  scope text not null
    check (scope in ('binding', 'instance', 'connector', 'tenant_retry', 'tenant', 'global')),
  scope_key text not null,
  -- null: shared by all tenants; reached through take_shared_quota and release_shared_quota alone.
  tenant_id text,
  held integer not null constraint quota_counters_held check (held >= 0),
  released_at timestamptz,
  -- Moving average of the time between two releases.
  drain_ms real,
  primary key (scope, scope_key),
  check ((tenant_id is null) = (scope in ('connector', 'global')))
) with (fillfactor = 50);

-- GCRA: when the next reservation would be due if they came evenly.
create table waybill.rate_limits (
  tenant_id text not null,
  instance_id text not null,
  due_at timestamptz not null,
  -- How far apart they come by the rate that due_at was reckoned with; null: by none.
  each_ms double precision check (each_ms > 0),
  -- Until then the provider wants to hear nothing, whatever the rate allows.
  held_until timestamptz,
  primary key (tenant_id, instance_id)
) with (fillfactor = 50);

-- Keeps a conversation on one instance.
create table waybill.affinities (
  tenant_id text not null,
  affinity_key text not null check (length(affinity_key) between 1 and 200),
  instance_id text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, affinity_key)
);
