-- What operators do with routes: moving a pinned action, seeing what is open, in doubt and full. And
-- what a provider that asks for patience makes of an instance's rate.

alter table waybill.routes
  -- The first route of an action is 1; an operator who moves it begins the next one.
  add column generation integer not null default 1,
  -- Since when nothing is reserved on it any more: the next reservation chooses anew.
  add column retired_at timestamptz;

-- Routes that operators took back, as they were, and why that was safe. Written once.
create table waybill.retired_routes (
  tenant_id text not null,
  action_id text not null,
  generation integer not null,
  route jsonb not null,
  -- The highest that was given out on it: all of its attempts have lower ones, all later routes higher.
  fence bigint not null,
  retired_at timestamptz not null default clock_timestamp(),
  retired_by text not null,
  reason text not null,
  proof jsonb not null,
  primary key (tenant_id, action_id, generation),
  foreign key (tenant_id, action_id) references waybill.actions on delete cascade
);

-- As before; and a route is retired, and then replaced by the next generation, only where it is kept.
create or replace function waybill.guard_route() returns trigger language plpgsql as $$
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

-- Why the action's route cannot be taken back; null: it can, once its host is proven to know of no
-- effect. Requested and not uncertain: every attempt was proven without effect, by its host's word,
-- by a seal, or because nothing was sent.
create function waybill.repin_fault(a waybill.actions, r waybill.routes) returns text
  language sql immutable
  return case
    when a.closed_at is not null or a.result_outcome is not null then 'closed'
    when a.uncertain or a.state in ('unknown', 'reconciling', 'needs_operator') then 'outcome_unknown'
    when a.state in ('reserved', 'dispatching', 'cancelling') then 'attempt_open'
    when a.cancel_requested_at is not null then 'cancel_requested'
    when a.state <> 'requested' then 'awaiting_approval'
    when r.action_id is null then 'no_route' end;

-- Whether a request of this route may have left: a host that cannot be asked may still get it. An
-- attempt that expired unsent looks like one that was sent.
create function waybill.may_be_on_the_wire(a waybill.actions) returns boolean language sql stable
  return exists (select from waybill.route_attempts t
    where t.tenant_id = a.tenant_id and t.action_id = a.action_id
      and t.fence > coalesce((select max(k.fence) from waybill.retired_routes k
        where k.tenant_id = a.tenant_id and k.action_id = a.action_id), 0)
      and not coalesce(t.settlement = 'not_started' and not t.evidence ? 'truncated'
        and coalesce(t.evidence->>'answer', 'not_sent') = 'not_sent', false));

-- First half of a move: a fence to seal the old host with. Answers {kind}: seal, with everything that
-- the call needs | already (it was taken back, and nothing was reserved since) | refused {why} |
-- unknown_action.
create function waybill.begin_repin(p_tenant text, p_action text, p_above bigint) returns jsonb
  language plpgsql as $$
declare
  a waybill.actions;
  r waybill.routes;
  v_why text;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  select * into r from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  v_why := waybill.repin_fault(a, r);
  if v_why is not null then return jsonb_build_object('kind', 'refused', 'why', v_why); end if;
  if r.retired_at is not null then return jsonb_build_object('kind', 'already'); end if;
  update waybill.routes set fence = waybill.fence_after(fence, p_above)
    where tenant_id = p_tenant and action_id = p_action returning * into r;
  return (select jsonb_build_object('kind', 'seal', 'route', waybill.route_json(r), 'fence', r.fence,
      'incarnation', x.incarnation, 'storeEpoch', a.store_epoch,
      'nowMs', floor(extract(epoch from clock_timestamp()) * 1000)::bigint,
      'sentAgoMs', floor(greatest(0, extract(epoch from clock_timestamp() - a.last_sent_at) * 1000))::bigint,
      'timeoutMs', c.timeout_ms, 'mayBeOnTheWire', waybill.may_be_on_the_wire(a))
    from waybill.replicas x, waybill.capabilities c
    where x.replica_id = r.replica_id and c.capability_id = a.capability_id);
end
$$;

-- Second half: the route is kept as evidence and retired, and the action may be reserved anywhere,
-- by a host that never heard of it. p_repin: {by, reason, proof}. Answers {kind}: repinned | already |
-- refused {why} | unknown_action. overtaken: something else was done with the action meanwhile.
create function waybill.conclude_repin(p_tenant text, p_action text, p_fence bigint, p_repin jsonb)
returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  r waybill.routes;
  v_why text;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  select * into r from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  v_why := coalesce(waybill.repin_fault(a, r), case when r.retired_at is null and r.fence <> p_fence
    then 'overtaken' end);
  if v_why is not null then return jsonb_build_object('kind', 'refused', 'why', v_why); end if;
  if r.retired_at is not null then return jsonb_build_object('kind', 'already'); end if;
  insert into waybill.retired_routes (tenant_id, action_id, generation, route, fence, retired_by, reason, proof)
    values (p_tenant, p_action, r.generation, waybill.route_json(r), r.fence, p_repin->>'by',
      p_repin->>'reason', waybill.bounded_evidence(p_repin->'proof'));
  update waybill.routes set retired_at = clock_timestamp()
    where tenant_id = p_tenant and action_id = p_action;
  update waybill.actions set version = version + 1, store_epoch = null, last_sent_at = null,
      begin_anew = false, attend_at = clock_timestamp() + interval '5 seconds'
    where tenant_id = p_tenant and action_id = p_action;
  insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
    values (p_tenant, p_repin->>'by', 'action.repin', 'action/' || p_action, jsonb_build_object(
      'generation', r.generation, 'reason', p_repin->>'reason', 'replicaId', r.replica_id,
      'proof', waybill.bounded_evidence(p_repin->'proof')));
  return jsonb_build_object('kind', 'repinned');
end
$$;

-- As before, and above the fences of a route that was taken back: p_request then has its `retired`
-- {fence, generation}.
create or replace function waybill.place_action(
  a waybill.actions, p_level waybill.bound[], p_request jsonb, p_topology jsonb
) returns jsonb language plpgsql as $$
declare
  r waybill.routes;
  x waybill.replicas;
  b waybill.bound;
begin
  x := waybill.lock_replica(a.tenant_id, a.action_id, p_level, p_topology);
  if x.replica_id is null then
    return waybill.replica_fault(a.tenant_id, p_level, p_topology);
  end if;
  select w.* into b from unnest(p_level) w where w.instance_id = x.instance_id;
  r := row(a.tenant_id, a.action_id, a.capability_id, b.connector_id, b.instance_id, b.version,
    b.manifest_digest, x.replica_id, x.endpoint, x.peer_principal_id, x.peer_principal_kind,
    x.peer_did, x.trust_domain, x.transport_profile, x.region, x.zone, x.capacity_class,
    (select revision from waybill.catalog_revision), b.policy_revision, b.credential_revision,
    b.quota_policy_id, clock_timestamp(),
    waybill.fence_after((p_request->'retired'->>'fence')::bigint, (p_request->>'aboveFence')::bigint),
    coalesce((p_request->'retired'->>'generation')::integer, 0) + 1, null)::waybill.routes;
  return waybill.reserved_json(r, waybill.open_reservation(r, x, b, p_request));
end
$$;

-- As before; a route that was taken back is replaced.
create or replace function waybill.open_reservation(
  r waybill.routes, x waybill.replicas, b waybill.bound, p_request jsonb
) returns waybill.route_attempts language plpgsql as $$
declare
  t waybill.route_attempts;
  v_counters jsonb;
begin
  v_counters := waybill.take_quotas(r.tenant_id, r.capability_id, b,
    exists (select from waybill.route_attempts o
             where o.tenant_id = r.tenant_id and o.action_id = r.action_id));
  perform waybill.take_rate(r.tenant_id, b.instance_id, b.rate_limit);
  update waybill.replicas set active_assignments = active_assignments + 1,
      probes = probes + (circuit_open_until is not null)::integer
    where replica_id = x.replica_id;
  if p_request ? 'retired' then
    update waybill.routes set (connector_id, instance_id, version, manifest_digest, replica_id,
        endpoint, peer_principal_id, peer_principal_kind, peer_did, trust_domain, transport_profile,
        region, zone, capacity_class, catalog_revision, binding_policy_revision, credential_revision,
        quota_policy_id, assigned_at, fence, generation, retired_at)
      = (select r.connector_id, r.instance_id, r.version, r.manifest_digest, r.replica_id,
        r.endpoint, r.peer_principal_id, r.peer_principal_kind, r.peer_did, r.trust_domain,
        r.transport_profile, r.region, r.zone, r.capacity_class, r.catalog_revision,
        r.binding_policy_revision, r.credential_revision, r.quota_policy_id, r.assigned_at, r.fence,
        r.generation, r.retired_at)
      where tenant_id = r.tenant_id and action_id = r.action_id;
  else
    insert into waybill.routes select (r).* on conflict (tenant_id, action_id)
      do update set fence = excluded.fence;
  end if;
  insert into waybill.route_attempts (tenant_id, action_id, attempt_no, owner, fence, replica_id,
      incarnation, health_revision, probe, counters, deadline_at)
    values (r.tenant_id, r.action_id, (p_request->>'attemptNo')::integer, p_request->>'owner',
      r.fence, x.replica_id, x.incarnation, x.health_revision, x.circuit_open_until is not null,
      v_counters,
      clock_timestamp() + make_interval(secs => (p_request->>'holdMs')::numeric / 1000.0))
    returning * into t;
  -- What is done again to find out was reconciling until now.
  update waybill.actions set state = 'requested', repeatable = false
    where tenant_id = r.tenant_id and action_id = r.action_id and state = 'reconciling' and repeatable;
  update waybill.actions set state = 'reserved', version = version + 1, waiting_since = null,
      reason = null, detail = null, attend_at = t.deadline_at + interval '5 seconds'
    where tenant_id = r.tenant_id and action_id = r.action_id;
  return t;
end
$$;

-- As before; an action whose route was taken back chooses anew.
create or replace function waybill.try_reserve(
  a waybill.actions, r waybill.routes, p_level waybill.bound[], p_request jsonb, p_topology jsonb
) returns jsonb language plpgsql as $$
declare
  v_detail text;
begin
  if r.retired_at is not null then
    return waybill.choose_binding(a, p_request || jsonb_build_object('retired',
      jsonb_build_object('fence', r.fence, 'generation', r.generation)), p_topology);
  end if;
  if r.action_id is not null then return waybill.reacquire_route(r, p_request); end if;
  return waybill.place_action(a, p_level, p_request, p_topology);
exception
  when sqlstate 'WB010' then
    get stacked diagnostics v_detail = pg_exception_detail;
    return v_detail::jsonb;
  when lock_not_available then
    return jsonb_build_object('kind', 'contended', 'retryInMs', 50);
end
$$;

alter table waybill.rate_limits
  -- Until then the provider wants to hear nothing, whatever the rate allows.
  add column held_until timestamptz;

-- GCRA as before, and nothing while the provider wants to be left alone.
create or replace function waybill.take_rate(p_tenant text, p_instance text, p_rate jsonb) returns void
  language plpgsql as $$
declare
  v_each interval;
  v_ahead interval;
  v_free_at timestamptz;
begin
  if p_rate is null then
    select held_until into v_free_at from waybill.rate_limits
      where tenant_id = p_tenant and instance_id = p_instance and held_until > clock_timestamp();
    if not found then return; end if;
  else
    v_each := make_interval(secs =>
      (p_rate->>'perMs')::double precision / (p_rate->>'permits')::double precision / 1000);
    v_ahead := v_each * ((p_rate->>'burst')::integer - 1);
    insert into waybill.rate_limits as l (tenant_id, instance_id, due_at)
      values (p_tenant, p_instance, clock_timestamp() + v_each)
      on conflict (tenant_id, instance_id) do update
        set due_at = greatest(l.due_at, clock_timestamp()) + v_each
        where l.due_at <= clock_timestamp() + v_ahead
          and coalesce(l.held_until <= clock_timestamp(), true);
    if found then return; end if;
    select greatest(due_at - v_ahead, held_until) into v_free_at from waybill.rate_limits
      where tenant_id = p_tenant and instance_id = p_instance;
  end if;
  raise exception 'instance % is at its rate', p_instance using errcode = 'WB010',
    detail = jsonb_build_object('kind', 'rate_limited', 'instanceId', p_instance,
      'retryInMs', greatest(1, waybill.ms_until(v_free_at)))::text;
end
$$;

-- The provider has told a host to wait so long: nothing is reserved on the instance until then, at most
-- a day.
create function waybill.hold_rate(p_tenant text, p_instance text, p_ms bigint) returns void language sql
begin atomic
  insert into waybill.rate_limits as l (tenant_id, instance_id, due_at, held_until)
    values (p_tenant, p_instance, clock_timestamp(),
      clock_timestamp() + make_interval(secs => least(p_ms, 86400000) / 1000.0))
    on conflict (tenant_id, instance_id) do update
      set held_until = greatest(l.held_until, excluded.held_until);
end;

-- As before; p_settle may have retryAfterMs: see hold_rate.
create or replace function waybill.settle_route(
  p_tenant text, p_action text, p_fence bigint, p_settle jsonb
) returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  r waybill.routes;
  t waybill.route_attempts;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  perform from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  select * into r from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  if not found or p_fence > r.fence then return jsonb_build_object('kind', 'unknown_route'); end if;
  select * into t from waybill.route_attempts
    where tenant_id = p_tenant and action_id = p_action and fence = p_fence;
  if not found then return jsonb_build_object('kind', 'fence_lost', 'settlement', null); end if;
  if t.settled_at is null then
    perform waybill.end_attempt(t, p_settle->>'settlement', p_settle->>'unknownCause',
      p_settle->'evidence');
    if p_settle->>'retryAfterMs' is not null then
      perform waybill.hold_rate(p_tenant, r.instance_id, (p_settle->>'retryAfterMs')::bigint);
    end if;
    return jsonb_build_object('kind', 'settled');
  end if;
  if t.settlement = p_settle->>'settlement' then return jsonb_build_object('kind', 'already_settled'); end if;
  perform waybill.keep_late_evidence(t, p_settle);
  return jsonb_build_object('kind', 'fence_lost', 'settlement', t.settlement);
end
$$;

-- As before; p_close may have retryAfterMs: see hold_rate. Waiting for the provider costs no attempt of
-- the action's budget.
create or replace function waybill.close_dispatch(
  p_tenant text, p_action text, p_fence bigint, p_close jsonb, p_result bytea
) returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  a waybill.actions;
  r waybill.routes;
  t waybill.route_attempts;
  v_kind text;
  v_result jsonb := nullif(p_close->'result', 'null');
begin
  perform set_config('waybill.tenant', p_tenant, true);
  perform from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  select * into r from waybill.routes
    where tenant_id = p_tenant and action_id = p_action and fence >= p_fence for update;
  if not found then return jsonb_build_object('kind', 'unknown_route'); end if;
  select * into t from waybill.route_attempts
    where tenant_id = p_tenant and action_id = p_action and fence = p_fence;
  if not found then
    v_kind := 'fence_lost';
  elsif t.settled_at is null then
    perform waybill.end_attempt(t, p_close->>'settlement', p_close->>'unknownCause', p_close->'evidence');
    v_kind := 'settled';
    if p_close->>'retryAfterMs' is not null then
      perform waybill.hold_rate(p_tenant, r.instance_id, (p_close->>'retryAfterMs')::bigint);
      update waybill.actions set budget_from = budget_from + 1
        where tenant_id = p_tenant and action_id = p_action and p_close->>'settlement' = 'not_started';
    end if;
  elsif t.settlement = p_close->>'settlement' then
    v_kind := 'already_settled';
  else
    perform waybill.keep_late_evidence(t, p_close);
    v_kind := 'fence_lost';
  end if;
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action;
  -- A refusal for good speaks of its own attempt alone: late, it is no more than evidence.
  if v_result is not null and (v_kind = 'settled' or p_close->>'settlement' <> 'not_started') then
    a := waybill.record_outcome(a, t, v_result, p_result);
  elsif a.result_outcome is not null then
    a := waybill.close_action(a, '{}');
  end if;
  return jsonb_build_object('kind', case when a.closed_at is not null then 'closed' else v_kind end,
    'action', waybill.action_facts(a));
end
$$;

-- Since when nobody knows what became of it: the age by which operators look.
alter table waybill.actions add column uncertain_since timestamptz;
update waybill.actions set uncertain_since = coalesce(last_sent_at, created_at)
  where uncertain and closed_at is null;

create function waybill.note_doubt() returns trigger language plpgsql as $$
begin
  new.uncertain_since := case when new.uncertain and new.closed_at is null then clock_timestamp() end;
  return new;
end
$$;
create trigger actions_doubt before update on waybill.actions for each row
  when ((new.uncertain and new.closed_at is null) is distinct from (old.uncertain_since is not null))
  execute function waybill.note_doubt();

create index actions_uncertain on waybill.actions (tenant_id, uncertain_since, action_id)
  where uncertain_since is not null;
create index route_attempts_open on waybill.route_attempts (tenant_id, opened_at, action_id)
  where settled_at is null;
create index quota_counters_by_tenant on waybill.quota_counters (tenant_id, scope, scope_key)
  where tenant_id is not null;

-- Whether a scope that all tenants share is full; how full, and by whom, is no tenant's business.
create function waybill.shared_quota_full(p_scope text, p_key text, p_limit integer) returns boolean
  language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select coalesce((select q.held >= p_limit from waybill.quota_counters q
    where q.scope = p_scope and q.scope_key = p_key and q.tenant_id is null), false);
end;

alter table waybill.retired_routes enable row level security;
create policy one_tenant on waybill.retired_routes to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.retired_routes to waybill_operations using (true);
grant select, insert on waybill.retired_routes to waybill_data;
grant select on waybill.retired_routes to waybill_operations, waybill_observer;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.repin_fault(waybill.actions, waybill.routes),
  waybill.may_be_on_the_wire(waybill.actions),
  waybill.begin_repin(text, text, bigint),
  waybill.conclude_repin(text, text, bigint, jsonb),
  waybill.hold_rate(text, text, bigint),
  waybill.shared_quota_full(text, text, integer)
  to waybill_data;
grant execute on function waybill.note_doubt() to waybill_data, waybill_operations;
