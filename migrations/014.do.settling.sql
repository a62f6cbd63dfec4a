-- Ending an attempt: by its owner, by the next reservation, by the sweep; and the reservation itself,
-- which may have to end one first.

-- Evidence of a bounded size.
create function waybill.bounded_evidence(p_evidence jsonb) returns jsonb language sql immutable
  return case when octet_length(p_evidence::text) > 16384 then '{"truncated": true}'::jsonb
    else p_evidence end;

-- Ends an open attempt: frees exactly what it took, moves the circuit and the action. The caller
-- holds the locks of action and route.
create function waybill.end_attempt(
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
  v_good := p_settlement = 'completed' and r.incarnation = t.incarnation
    and (r.circuit_open_until is null or v_decides);
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
  if p_settlement in ('not_started', 'outcome_unknown', 'lease_expired') then
    update waybill.actions set version = version + 1, attend_at = clock_timestamp() + interval '5 seconds',
        uncertain = uncertain or (p_settlement <> 'not_started' and state <> 'reserved'),
        begin_anew = begin_anew and (p_settlement = 'not_started' or state = 'reserved'),
        store_epoch = case when uncertain or p_settlement <> 'not_started' then store_epoch end,
        last_sent_at = case when uncertain or p_settlement <> 'not_started' then last_sent_at end,
        state = case when p_settlement = 'not_started' and not uncertain and state <> 'cancelling'
          then 'requested' else 'unknown' end
      where tenant_id = t.tenant_id and action_id = t.action_id
        and state in ('reserved', 'dispatching', 'cancelling');
  end if;
end
$$;

-- Why an open attempt is over without its owner; null: it is not.
create function waybill.overdue_cause(t waybill.route_attempts) returns text language sql volatile
  return (select case
      when r.incarnation <> t.incarnation then 'incarnation'
      when r.status = 'offline' then 'offline'
      when r.lease_ends_at <= clock_timestamp() then 'replica_lease'
      when t.deadline_at <= clock_timestamp() then 'deadline' end
    from waybill.replicas r where r.replica_id = t.replica_id);

create function waybill.keep_late_evidence(t waybill.route_attempts, p_evidence jsonb) returns void
  language sql
begin atomic
  update waybill.route_attempts
    set late_evidence = late_evidence || jsonb_build_array(waybill.bounded_evidence(p_evidence))
    where tenant_id = t.tenant_id and action_id = t.action_id and attempt_no = t.attempt_no
      and jsonb_array_length(late_evidence) < 10;
end;

-- These three wait for what others hold, as long as lock_timeout says. false: it was not to be had, and
-- nothing was done. Who finds all of it free at once does without them: a block that can be rolled back
-- has its price.

-- Keeps publishers away and locks the action.
create function waybill.await_action(p_tenant text, p_action text) returns boolean
  language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('waybill.publication', 0));
  perform from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  return true;
exception
  when lock_not_available then return false;
end
$$;

create function waybill.await_conversation(p_lock bigint) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock(p_lock);
  return true;
exception
  when lock_not_available then return false;
end
$$;

create function waybill.end_overdue(t waybill.route_attempts) returns boolean language plpgsql as $$
begin
  perform waybill.end_attempt(t, 'lease_expired', 'deadline', '{}');
  return true;
exception
  when lock_not_available then return false;
end
$$;

-- Whether actions of the capability need an approval: its class, or one of the tenant's bindings, says so.
create function waybill.approval_needed(p_tenant text, p_capability text) returns boolean
  language sql stable
  return exists (select from waybill.capabilities c
      where c.capability_id = p_capability and c.side_effect = 'external')
    or exists (select from waybill.bindings b
      where b.tenant_id = p_tenant and b.capability_id = p_capability and b.enabled
        and b.approval_required);

-- Reserves the action's route, or says why not; the kinds are those of ReserveAnswer in
-- src/domain/routes.ts. p_request: {capabilityId, requestDigest, owner, attemptNo, affinityKey,
-- holdMs, aboveFence}. An attempt of this action that is overdue is ended first. Of what is left of an
-- action it tells the result; while the deployment recovers from a restore nothing new is reserved. Nobody
-- waits here for longer than a second: what is still held by then is answered as contended. One
-- plan for all calls, and none is compiled: the planner takes the bounded search for a long one, and
-- compiling it would cost a thousand times what running it does.
create function waybill.reserve_route(
  p_tenant text, p_action text, p_request jsonb, p_topology jsonb
) returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set jit = off
  set lock_timeout = '1s' as $$
declare
  a waybill.actions;
  r waybill.routes;
  t waybill.route_attempts;
  v_no integer := (p_request->>'attemptNo')::integer;
  v_mine boolean;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  -- Before the first snapshot that sees the catalog.
  if pg_try_advisory_xact_lock_shared(hashtextextended('waybill.publication', 0)) then
    select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action
      for update skip locked;
  end if;
  if a.action_id is null then
    if not waybill.await_action(p_tenant, p_action) then
      return jsonb_build_object('kind', 'contended', 'retryInMs', 50);
    end if;
    select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action
      for update skip locked;
    -- One that has come since is not locked, and was not there when it was looked for.
    if not found then a := waybill.find_action(p_tenant, p_action); end if;
    if not found and a.closed_at is null then a := null; end if;
  end if;
  if a.action_id is null then return jsonb_build_object('kind', 'unknown_action'); end if;
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
      if not waybill.end_overdue(t) then
        return jsonb_build_object('kind', 'contended', 'retryInMs', 50);
      end if;
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
  if (select recovering_since is not null from waybill.settings) then
    return jsonb_build_object('kind', 'recovering', 'retryInMs', 5000);
  end if;
  -- What is done again to find out was begun by the rules of then.
  if a.approval_id is null and a.state = 'requested'
     and waybill.approval_needed(p_tenant, a.capability_id) then
    return jsonb_build_object('kind', 'approval_required');
  end if;
  if r.action_id is not null then
    return waybill.try_reserve(a, r, null, p_request, p_topology);
  end if;
  return waybill.choose_binding(a, p_request, p_topology);
end
$$;

-- A first route: binding by binding, best priority first. The next one is tried only where the one
-- that has no capacity says so: it may be another account. The answer is then the first refusal.
create function waybill.choose_binding(
  a waybill.actions, p_request jsonb, p_topology jsonb
) returns jsonb language plpgsql as $$
declare
  v_key text := p_request->>'affinityKey';
  v_conversation bigint := hashtextextended(a.tenant_id || '/' || v_key,
    hashtextextended('waybill.affinity', 0));
  v_pinned text;
  v_chain waybill.bound[];
  v_level waybill.bound[];
  v_answer jsonb;
  v_first jsonb;
begin
  v_chain := waybill.binding_chain(a.tenant_id, a.capability_id);
  if cardinality(v_chain) = 0 then
    return jsonb_build_object('kind', 'binding_unavailable', 'why', 'no_binding');
  end if;
  if v_key is not null then
    -- One conversation decides at a time, so that two of its actions cannot choose two accounts.
    if not pg_try_advisory_xact_lock(v_conversation)
       and not waybill.await_conversation(v_conversation) then
      return jsonb_build_object('kind', 'contended', 'retryInMs', 50);
    end if;
    select instance_id into v_pinned from waybill.affinities
      where tenant_id = a.tenant_id and affinity_key = v_key;
    if found then v_chain := array(select c from unnest(v_chain) c where c.instance_id = v_pinned); end if;
  end if;
  -- Most tenants have one account: what follows is for several, and no query is made for one.
  if cardinality(v_chain) <> 1 or v_chain[1].fault is not null then
    if not exists (select from unnest(v_chain) c where c.fault is null) then
      return jsonb_build_object('kind', 'binding_unavailable', 'why',
        case when v_pinned is not null then 'affinity_unavailable' else v_chain[1].fault end);
    end if;
    v_chain := array(select c from unnest(v_chain) c where c.fault is null);
  end if;
  while cardinality(v_chain) > 0 loop
    v_level := v_chain;
    if cardinality(v_chain) > 1 then
      v_level := array(select c from unnest(v_chain) c where c.priority =
        (select min(m.priority) from unnest(v_chain) m));
    end if;
    v_answer := waybill.try_reserve(a, null, v_level, p_request, p_topology);
    if v_answer->>'kind' = 'reserved' then
      if v_key is not null then
        insert into waybill.affinities (tenant_id, affinity_key, instance_id)
          values (a.tenant_id, v_key, v_answer->'route'->>'instanceId') on conflict do nothing;
      end if;
      return v_answer;
    end if;
    v_first := coalesce(v_first, v_answer);
    if v_answer->>'kind' = 'replica_unavailable' then
      -- None of the level has one.
      exit when exists (select from unnest(v_level) c where c.spill <> 'capacity');
      v_chain := array(select c from unnest(v_chain) c where c.priority > v_level[1].priority);
    elsif v_answer->>'kind' = 'capacity_exceeded' then
      exit when exists (select from unnest(v_level) c where c.instance_id = v_answer->>'instanceId'
        and c.spill <> 'capacity' and not (c.spread and cardinality(v_level) > 1));
      v_chain := array(select c from unnest(v_chain) c where c.instance_id <> v_answer->>'instanceId');
    else
      return v_answer;
    end if;
  end loop;
  return v_first;
end
$$;

-- Answers settled | already_settled | fence_lost | unknown_route; see SettleAnswer. p_settle:
-- {settlement, unknownCause, evidence, retryAfterMs: see hold_rate}.
create function waybill.settle_route(
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

-- Writes the action's result once, also after the attempt's lease expired, and closes the action where
-- its state allows it. Answers recorded | already_recorded | conflict | unknown_route.
create function waybill.record_result(
  p_tenant text, p_action text, p_fence bigint, p_result jsonb, p_evidence jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  t waybill.route_attempts;
  v_state text := case p_result->>'outcome' when 'succeeded' then 'completed' else p_result->>'outcome' end;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  perform from waybill.routes
    where tenant_id = p_tenant and action_id = p_action and fence >= p_fence for update;
  if not found then return jsonb_build_object('kind', 'unknown_route'); end if;
  -- A fencing call has no attempt of its own: what it learnt belongs to the one before it.
  select * into t from waybill.route_attempts
    where tenant_id = p_tenant and action_id = p_action and fence <= p_fence
    order by attempt_no desc limit 1;
  if a.result_outcome is not null then
    if waybill.action_result(a) = jsonb_build_object('outcome', p_result->>'outcome',
      'resultSha256', p_result->>'resultSha256', 'errorCode', p_result->>'errorCode') then
      return jsonb_build_object('kind', 'already_recorded');
    end if;
    perform waybill.keep_late_evidence(t, p_evidence || jsonb_build_object('result', p_result));
    return jsonb_build_object('kind', 'conflict', 'result', waybill.action_result(a));
  end if;
  perform waybill.keep_late_evidence(t, p_evidence);
  update waybill.actions set result_outcome = p_result->>'outcome',
      result_sha256 = decode(p_result->>'resultSha256', 'hex'), error_code = p_result->>'errorCode',
      state = case when v.closes then v_state else state end, version = version + v.closes::integer,
      closed_at = case when v.closes then clock_timestamp() end,
      waiting_since = case when v.closes then null else waiting_since end,
      attend_at = case when not v.closes then attend_at end
    from (select waybill.action_may_follow(a.state, v_state) as closes) v
    where tenant_id = p_tenant and action_id = p_action;
  return jsonb_build_object('kind', 'recorded');
end
$$;

-- Lets a reservation hold longer. One that is overdue is not brought back: its holder must stop.
create function waybill.extend_reservation(
  p_tenant text, p_action text, p_fence bigint, p_hold_ms integer
) returns jsonb language plpgsql as $$
declare
  t waybill.route_attempts;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  perform from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  perform from waybill.routes
    where tenant_id = p_tenant and action_id = p_action and fence >= p_fence for update;
  if not found then return jsonb_build_object('kind', 'unknown_route'); end if;
  update waybill.route_attempts set deadline_at = greatest(deadline_at,
      clock_timestamp() + make_interval(secs => p_hold_ms / 1000.0))
    where tenant_id = p_tenant and action_id = p_action and fence = p_fence and settled_at is null
      and deadline_at > clock_timestamp()
    returning * into t;
  if not found then return jsonb_build_object('kind', 'fence_lost'); end if;
  update waybill.actions set attend_at = t.deadline_at + interval '5 seconds'
    where tenant_id = p_tenant and action_id = p_action and closed_at is null;
  return jsonb_build_object('kind', 'extended', 'deadlineInMs', waybill.ms_until(t.deadline_at));
end
$$;

-- A fence for a call that fences (reconcile, cancel); null: the action has no route.
create function waybill.next_fence(p_tenant text, p_action text, p_above bigint) returns bigint
  language plpgsql as $$
declare
  v_fence bigint;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  perform from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  update waybill.routes set fence = waybill.fence_after(fence, p_above)
    where tenant_id = p_tenant and action_id = p_action returning fence into v_fence;
  return v_fence;
end
$$;

create function waybill.read_route(p_tenant text, p_action text) returns jsonb language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  return (select waybill.route_json(r) from waybill.routes r
    where tenant_id = p_tenant and action_id = p_action);
end
$$;

-- Open attempts that are over, the longest overdue first: their deadline passed, or their replica has gone.
-- For waybill_operations; each is then ended by expire_attempt in a transaction of its own.
create function waybill.overdue_attempts(p_limit integer)
returns table (tenant_id text, action_id text, fence bigint) language sql volatile
begin atomic
  with candidates as materialized (
    (select t.tenant_id, t.action_id, t.fence, t.deadline_at from waybill.route_attempts t
      where t.settled_at is null and t.deadline_at <= clock_timestamp()
      order by t.deadline_at limit p_limit)
    union
    (select t.tenant_id, t.action_id, t.fence, t.deadline_at from waybill.replicas r
      join waybill.route_attempts t on t.replica_id = r.replica_id and t.settled_at is null
      where r.release_pending and waybill.overdue_cause(t) is not null
      order by r.lease_ends_at, t.deadline_at limit p_limit)
  )
  select c.tenant_id, c.action_id, c.fence from candidates c
    order by c.deadline_at, c.tenant_id, c.action_id limit p_limit;
end;

-- Ends one overdue attempt, without waiting: somebody who holds the action decides about it now, and the
-- next round looks again. false: it was ended or extended meanwhile, or is held.
create function waybill.expire_attempt(p_tenant text, p_action text, p_fence bigint)
  returns boolean language plpgsql as $$
declare
  t waybill.route_attempts;
  v_cause text;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  perform from waybill.actions where tenant_id = p_tenant and action_id = p_action
    for update skip locked;
  if not found then return false; end if;
  perform from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  select * into t from waybill.route_attempts where tenant_id = p_tenant and action_id = p_action
    and fence = p_fence and settled_at is null;
  if not found then return false; end if;
  v_cause := waybill.overdue_cause(t);
  if v_cause is null then return false; end if;
  perform waybill.end_attempt(t, 'lease_expired', v_cause, '{}');
  return true;
end
$$;

-- Replicas of which nothing is left to release.
create function waybill.finish_releases(p_limit integer) returns void language sql
begin atomic
  with done as materialized (
    select r.replica_id from waybill.replicas r where r.release_pending
      and not exists (select from waybill.route_attempts t
        where t.replica_id = r.replica_id and t.settled_at is null
          and waybill.overdue_cause(t) is not null)
      order by r.replica_id limit p_limit for update skip locked
  )
  update waybill.replicas r set release_pending = false from done
    where r.replica_id = done.replica_id;
end;

-- A capability's contract if one of the tenant's bindings stands on a whole chain; else null.
create function waybill.find_capability(p_tenant text, p_capability text) returns jsonb
  language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  return (select jsonb_build_object('capabilityId', c.capability_id, 'interfaceName', c.interface_name,
      'sideEffect', c.side_effect, 'recovery', c.recovery, 'requestSchema', c.request_schema,
      'resultSchema', c.result_schema, 'contractDigest', c.contract_digest,
      'approvalNeeded', waybill.approval_needed(p_tenant, c.capability_id))
    from waybill.capabilities c where c.capability_id = p_capability
      and exists (select from unnest(waybill.binding_chain(p_tenant, p_capability)) b
        where b.fault is null));
end
$$;
