-- Acting: what the workflow of an action and its activities ask Postgres to decide. An action that may
-- have had its effect stays uncertain until a host, a result or a person clears it up.

alter table waybill.actions
  -- A request was sent and what became of it is not known.
  add column uncertain boolean not null default false,
  -- Uncertain, and doing it again is safe and finds out: it may be reserved while it is reconciled.
  add column repeatable boolean not null default false,
  -- The host's memory that the action was first sent to: whoever has another one knows nothing of it.
  add column store_epoch text,
  add column last_sent_at timestamptz,
  -- A person is certain that what was begun had no effect: its host is told to begin anew.
  add column begin_anew boolean not null default false,
  -- Attempts up to this one are not counted: a person has given the action a new budget.
  add column budget_from integer not null default 0,
  add column cancel_requested_at timestamptz,
  add column cancel_requested_by text,
  -- The delivery whose target it is; null: a dispatcher has started it.
  add column delivery_id uuid;

alter table waybill.capabilities
  -- From connecting to the last byte of a host's answer.
  add column timeout_ms integer not null default 30000 check (timeout_ms between 100 and 600000);

create or replace function waybill.action_facts(a waybill.actions) returns jsonb language sql volatile
  return jsonb_build_object('capabilityId', a.capability_id, 'state', a.state, 'version', a.version,
    'requestDigest', encode(a.request_sha256, 'hex'), 'result', waybill.action_result(a),
    'reason', a.reason, 'detail', a.detail, 'deadlineInMs', waybill.ms_until(a.deadline_at),
    'retryBudget', a.retry_budget, 'affinityKey', a.affinity_key, 'uncertain', a.uncertain,
    'repeatable', a.repeatable, 'cancelRequestedBy', a.cancel_requested_by,
    'deliveryId', a.delivery_id, 'budgetFrom', a.budget_from);

-- What the workflow goes on from: the facts, the newest attempt (null before the first) and the
-- connector of the route; null: no such action.
create function waybill.read_action(p_tenant text, p_action text) returns jsonb
  language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  return (select waybill.action_facts(a) || jsonb_build_object(
      'connectorId', (select r.connector_id from waybill.routes r
        where r.tenant_id = p_tenant and r.action_id = p_action),
      'attempt', (select jsonb_build_object('attemptNo', t.attempt_no, 'fence', t.fence,
          'open', t.settled_at is null, 'settlement', t.settlement)
        from waybill.route_attempts t where t.tenant_id = p_tenant and t.action_id = p_action
        order by t.attempt_no desc limit 1))
    from waybill.actions a where a.tenant_id = p_tenant and a.action_id = p_action);
end
$$;

create or replace function waybill.start_action(
  p_tenant text, p_action text, p_capability text, p_request bytea, p_fields jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  insert into waybill.actions (tenant_id, action_id, capability_id, request_sha256, state,
      affinity_key, requested_by, retry_budget, deadline_at, attend_at, delivery_id)
    values (p_tenant, p_action, p_capability, sha256(p_request), 'requested',
      p_fields->>'affinityKey', p_fields->>'requestedBy', (p_fields->>'retryBudget')::integer,
      clock_timestamp() + make_interval(secs => (p_fields->>'deadlineMs')::numeric / 1000.0),
      clock_timestamp() + make_interval(secs => (p_fields->>'attendAfterMs')::numeric / 1000.0),
      (p_fields->>'deliveryId')::uuid)
    on conflict do nothing returning * into a;
  if found then
    perform waybill.keep_artifact(p_tenant, sha256(p_request), p_request);
    return jsonb_build_object('kind', 'started', 'action', waybill.action_facts(a));
  end if;
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action;
  return jsonb_build_object('kind', case
      when a.capability_id = p_capability and a.request_sha256 = sha256(p_request) then 'existing'
      else 'conflict' end, 'action', waybill.action_facts(a));
end
$$;

-- As before; an action that goes back to requested is proven to have had no effect, and one that stays
-- open is attended to after attendAfterMs of p_fields, a minute where that is absent.
create or replace function waybill.move_action(
  p_tenant text, p_action text, p_from text[], p_to text, p_fields jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  v_closes boolean := p_to in ('completed', 'failed', 'cancelled');
  v_result jsonb := nullif(p_fields->'result', 'null');
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  if a.state = p_to then
    return jsonb_build_object('kind', 'already', 'action', waybill.action_facts(a));
  end if;
  if a.result_outcome is not null then v_result := waybill.action_result(a); end if;
  if not a.state = any (p_from) or not waybill.action_may_follow(a.state, p_to)
     or (v_closes and v_result->>'outcome' is distinct from
       case p_to when 'completed' then 'succeeded' else p_to end) then
    return jsonb_build_object('kind', 'refused', 'action', waybill.action_facts(a));
  end if;
  update waybill.actions set state = p_to, version = version + 1,
      reason = p_fields->>'reason', detail = p_fields->>'detail',
      uncertain = uncertain and p_to <> 'requested', repeatable = false,
      waiting_since = case when (p_fields->>'waiting')::boolean
        then coalesce(waiting_since, clock_timestamp()) end,
      attend_at = case when not v_closes then clock_timestamp()
        + make_interval(secs => coalesce((p_fields->>'attendAfterMs')::numeric, 60000) / 1000.0) end,
      closed_at = case when v_closes then clock_timestamp() end,
      result_outcome = case when v_closes then v_result->>'outcome' else result_outcome end,
      result_sha256 = case when v_closes then decode(v_result->>'resultSha256', 'hex') else result_sha256 end,
      error_code = case when v_closes then v_result->>'errorCode' else error_code end
    where tenant_id = p_tenant and action_id = p_action returning * into a;
  return jsonb_build_object('kind', 'moved', 'action', waybill.action_facts(a));
end
$$;

-- Moves a locked action along a path of states, each step judged by the guard.
create function waybill.walk_action(a waybill.actions, p_path text[]) returns waybill.actions
  language plpgsql as $$
declare
  v_state text;
begin
  foreach v_state in array p_path loop
    update waybill.actions set state = v_state, version = version + 1
      where tenant_id = a.tenant_id and action_id = a.action_id returning * into a;
  end loop;
  return a;
end
$$;

-- The states between one in which a result comes and the one that it leads to. A late result may come
-- in any: it is a fact, whatever was believed.
create function waybill.way_to(p_from text, p_to text) returns text[] language sql immutable parallel safe
  return case
    when waybill.action_may_follow(p_from, p_to) then '{}'::text[]
    when p_from = 'awaiting_approval' then array['requested', 'reserved', 'unknown', 'reconciling']
    when p_from = 'requested' then array['reserved', 'unknown', 'reconciling']
    when p_from = 'reserved' then array['unknown', 'reconciling']
    when p_from = 'dispatching' then array['cancelling']
    when p_from = 'unknown' then array['reconciling'] end;

-- Closes a locked action with a result. It is the one that is recorded, if there is one. What was
-- reserved and not sent is given back.
create function waybill.close_action(a waybill.actions, p_result jsonb) returns waybill.actions
  language plpgsql as $$
declare
  v_result jsonb := coalesce(waybill.action_result(a), p_result);
  v_state text := case v_result->>'outcome'
    when 'succeeded' then 'completed' else v_result->>'outcome' end;
  t waybill.route_attempts;
begin
  if a.closed_at is not null then return a; end if;
  if a.state = 'reserved' then
    select * into t from waybill.route_attempts
      where tenant_id = a.tenant_id and action_id = a.action_id and settled_at is null;
    if found then
      perform waybill.end_attempt(t, 'not_started', null, '{"reason": "closed"}');
      select * into a from waybill.actions where tenant_id = a.tenant_id and action_id = a.action_id;
    end if;
  end if;
  a := waybill.walk_action(a, waybill.way_to(a.state, v_state));
  update waybill.actions set result_outcome = v_result->>'outcome',
      result_sha256 = decode(v_result->>'resultSha256', 'hex'), error_code = v_result->>'errorCode',
      state = v_state, version = version + 1, closed_at = clock_timestamp(), attend_at = null,
      uncertain = false, repeatable = false, waiting_since = null,
      reason = p_result->>'reason', detail = p_result->>'detail'
    where tenant_id = a.tenant_id and action_id = a.action_id returning * into a;
  return a;
end
$$;

create or replace function waybill.end_attempt(
  t waybill.route_attempts, p_settlement text, p_cause text, p_evidence jsonb
) returns void language plpgsql as $$
declare
  r waybill.replicas;
  v_counter jsonb;
  v_settings waybill.settings;
  v_good boolean;
  v_bad boolean;
  v_decides boolean;
begin
  update waybill.route_attempts set settled_at = clock_timestamp(), settlement = p_settlement,
      cause = p_cause, evidence = waybill.bounded_evidence(p_evidence)
    where tenant_id = t.tenant_id and action_id = t.action_id and attempt_no = t.attempt_no;
  select * into v_settings from waybill.settings;
  select * into r from waybill.replicas where replica_id = t.replica_id for update;
  -- Once the circuit is open, only its probes decide; what an earlier incarnation left is neutral.
  v_decides := t.probe and coalesce(r.circuit_open_until <= clock_timestamp(), false);
  v_good := p_settlement = 'completed' and (r.circuit_open_until is null or v_decides);
  v_bad := p_settlement = 'outcome_unknown' and p_cause is not distinct from 'host'
    and r.incarnation = t.incarnation;
  update waybill.replicas set
      active_assignments = active_assignments - 1,
      probes = probes - t.probe::integer,
      unknown_failures = case when v_good then 0 else unknown_failures + v_bad::integer end,
      circuit_open_until = case
        when v_good then null
        when v_bad and v_settings.circuit_unknowns > 0 and (v_decides or (circuit_open_until is null
            and unknown_failures + 1 >= v_settings.circuit_unknowns))
          then clock_timestamp() + make_interval(secs => v_settings.circuit_open_ms / 1000.0)
        else circuit_open_until end
    where replica_id = t.replica_id;
  for v_counter in select * from jsonb_array_elements(t.counters) loop
    if v_counter->>'scope' in ('connector', 'global') then
      perform waybill.release_shared_quota(v_counter->>'scope', v_counter->>'key');
    else
      perform waybill.release_quota(v_counter->>'scope', v_counter->>'key');
    end if;
  end loop;
  -- Nothing began, now or earlier: it may be asked for again, of any memory. Nobody knows: that is
  -- cleared up first. Reserved: nothing was sent under this attempt, so it leaves no doubt of its own.
  -- Cancelling: whoever clears it up cancels it.
  update waybill.actions set version = version + 1, attend_at = clock_timestamp() + interval '5 seconds',
      uncertain = uncertain or (p_settlement <> 'not_started' and state <> 'reserved'),
      begin_anew = begin_anew and (p_settlement = 'not_started' or state = 'reserved'),
      store_epoch = case when uncertain or p_settlement <> 'not_started' then store_epoch end,
      last_sent_at = case when uncertain or p_settlement <> 'not_started' then last_sent_at end,
      state = case when p_settlement = 'not_started' and not uncertain and state <> 'cancelling'
        then 'requested' else 'unknown' end
    where tenant_id = t.tenant_id and action_id = t.action_id
      and state in ('reserved', 'dispatching', 'cancelling')
      and p_settlement in ('not_started', 'outcome_unknown', 'lease_expired');
end
$$;

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
  insert into waybill.routes select (r).* on conflict (tenant_id, action_id)
    do update set fence = excluded.fence;
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

create or replace function waybill.reserve_route(
  p_tenant text, p_action text, p_request jsonb, p_topology jsonb
) returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  a waybill.actions;
  r waybill.routes;
  t waybill.route_attempts;
  v_no integer := (p_request->>'attemptNo')::integer;
  v_mine boolean;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  -- Before the first snapshot that sees the catalog.
  perform pg_advisory_xact_lock_shared(hashtextextended('waybill.publication', 0));
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  if a.capability_id <> p_request->>'capabilityId' then
    return jsonb_build_object('kind', 'conflict', 'detail', 'the action has another capability');
  end if;
  if encode(a.request_sha256, 'hex') <> p_request->>'requestDigest' then
    return jsonb_build_object('kind', 'conflict', 'detail', 'the action has another request');
  end if;
  select * into r from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  if found then
    select * into t from waybill.route_attempts
      where tenant_id = p_tenant and action_id = p_action order by attempt_no desc limit 1;
    if t.settled_at is null and t.deadline_at <= clock_timestamp() then
      perform waybill.end_attempt(t, 'lease_expired', 'deadline', '{}');
      select * into t from waybill.route_attempts
        where tenant_id = p_tenant and action_id = p_action and attempt_no = t.attempt_no;
      select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action;
    end if;
  end if;
  if a.result_outcome is not null then
    return jsonb_build_object('kind', 'finished', 'result', waybill.action_result(a));
  end if;
  if t.attempt_no is not null then
    v_mine := t.owner = p_request->>'owner';
    if t.settled_at is null and v_mine and v_no = t.attempt_no then
      return waybill.reserved_json(r, t);
    elsif t.settled_at is not null and v_mine and v_no = t.attempt_no then
      return jsonb_build_object('kind', 'settled', 'settlement', t.settlement, 'attemptNo', v_no);
    elsif t.settled_at is null and (not v_mine or v_no > t.attempt_no) then
      return jsonb_build_object('kind', 'in_progress', 'endsInMs', waybill.ms_until(t.deadline_at));
    elsif v_no <= t.attempt_no then
      return jsonb_build_object('kind', 'superseded', 'attemptNo', t.attempt_no);
    end if;
  end if;
  if a.state <> 'requested' and not (a.state = 'reconciling' and a.repeatable) then
    return jsonb_build_object('kind', 'not_requested', 'state', a.state);
  end if;
  if r.action_id is not null then
    return waybill.try_reserve(a, r, null, p_request, p_topology);
  end if;
  return waybill.choose_binding(a, p_request, p_topology);
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.read_action(text, text),
  waybill.walk_action(waybill.actions, text[]),
  waybill.way_to(text, text),
  waybill.close_action(waybill.actions, jsonb)
  to waybill_data;
