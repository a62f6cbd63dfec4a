-- What operators do with routes: moving a pinned action, seeing what is open, in doubt and full. And
-- what a provider that asks for patience makes of an instance's rate.

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
      'timeoutMs', c.timeout_ms, 'approval', a.approval_id, 'mayBeOnTheWire', waybill.may_be_on_the_wire(a))
    from waybill.replicas x, waybill.capabilities c
    where x.replica_id = r.replica_id and c.capability_id = a.capability_id);
end
$$;

-- Second half: the route is kept as evidence and retired, and the action may be reserved anywhere,
-- by a host that never heard of it. p_repin: {by, reason, proof}. Answers {kind}: repinned | already |
-- refused {why} | unknown_action | sign (see ask_receipt). overtaken: something else was done with the action meanwhile.
create function waybill.conclude_repin(
  p_tenant text, p_action text, p_fence bigint, p_repin jsonb, p_receipt jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  r waybill.routes;
  v_why text;
  v_ask jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  select * into r from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  v_why := coalesce(waybill.repin_fault(a, r), case when r.retired_at is null and r.fence <> p_fence
    then 'overtaken' end);
  if v_why is not null then return jsonb_build_object('kind', 'refused', 'why', v_why); end if;
  if r.retired_at is not null then return jsonb_build_object('kind', 'already'); end if;
  v_ask := waybill.ask_receipt(a, 'action_repinned', p_receipt);
  if v_ask is not null then return v_ask; end if;
  perform waybill.keep_receipt(a, p_receipt);
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
  waybill.conclude_repin(text, text, bigint, jsonb, jsonb),
  waybill.hold_rate(text, text, bigint),
  waybill.shared_quota_full(text, text, integer)
  to waybill_data;
grant execute on function waybill.note_doubt() to waybill_data, waybill_operations;
