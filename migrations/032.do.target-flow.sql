-- How much goes to a target, and when nothing does: its breaker, what people pause, the rate at which
-- what waited goes out, and how many attempts are under way at once.

alter table waybill.settings
  -- Which addresses may be called: {http: whether without TLS, ports, allow: [address or range]}. Of the
  -- ranges in allow an address may be private, without TLS, and at any port.
  add column target_addresses jsonb not null default '{"http": false, "ports": [443], "allow": []}',
  -- What targets of the kind workflow may start or signal: [{taskQueue, workflowType, tenants}]; tenants
  -- null: all of them.
  add column workflow_targets jsonb not null default '[]',
  -- How many attempts over HTTP one tenant may have under way at once, at all of its targets. Three
  -- quarters of what one worker makes at once: whatever hangs, the others have the rest.
  add column tenant_in_flight integer not null default 75 check (tenant_in_flight between 1 and 10000);

alter table waybill.targets
  -- How many of the deliveries that waited go out in a second, once nothing holds them any more.
  add column drain_per_second numeric not null default 10 check (drain_per_second > 0 and drain_per_second <= 1000),
  add column max_in_flight integer not null default 50 check (max_in_flight between 1 and 100),
  -- Failing attempts in a row that open the breaker; 0: never.
  add column breaker_failures integer not null default 5 check (breaker_failures between 0 and 1000),
  add column breaker_open_ms integer not null default 30000 check (breaker_open_ms between 100 and 3600000);

alter table waybill.subscriptions
  -- null: its target's rate alone.
  add column drain_per_second numeric check (drain_per_second > 0 and drain_per_second <= 1000);

-- What is known of a target at work. A target without a row is closed and was never paused: attempts
-- that succeed write nothing here.
create table waybill.target_states (
  tenant_id text not null,
  target_id text not null,
  breaker text not null default 'closed' check (breaker in ('closed', 'open', 'half_open')),
  -- Failing attempts in a row while the breaker is closed.
  failures integer not null default 0 check (failures >= 0),
  -- How often in a row it was opened: each time for longer.
  opens integer not null default 0 check (opens >= 0),
  open_until timestamptz,
  -- The one attempt that a half-open breaker admits, and until when it may answer.
  probe_delivery uuid,
  probe_attempt integer,
  probe_until timestamptz,
  paused_at timestamptz,
  paused_by text,
  pause_reason text,
  primary key (tenant_id, target_id),
  foreign key (tenant_id, target_id) references waybill.targets,
  constraint target_states_open check ((breaker = 'closed') = (open_until is null)),
  constraint target_states_probe check ((breaker = 'half_open') = (probe_until is not null)),
  constraint target_states_paused check
    ((paused_at is null) = (paused_by is null) and (paused_at is null) = (pause_reason is null))
);
alter table waybill.target_states enable row level security;
create policy one_tenant on waybill.target_states to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.target_states to waybill_operations using (true);

alter table waybill.deliveries
  -- What it waits at until a loop releases it: subscription/<id> (paused), target/<id> (paused, or its
  -- breaker is open), busy/<id> (as many attempts under way as the target takes); null: at nothing.
  add column gate text,
  -- Since when it is held, also where it waits at no gate; null: it is not.
  add column gated_at timestamptz,
  add constraint deliveries_gated check
    ((gate is null or gated_at is not null) and (gate is null or attend_at is not null));

-- From when on the next of those that wait at a gate may go. Only the loop that releases them knows of it.
create table waybill.gate_turns (
  tenant_id text not null,
  gate text not null,
  next_at timestamptz,
  primary key (tenant_id, gate)
);
alter table waybill.gate_turns enable row level security;
create policy across_tenants on waybill.gate_turns to waybill_operations using (true);

create index deliveries_at_gates on waybill.deliveries (tenant_id, gate, received_at, delivery_id)
  where gate is not null;

-- Whether the deployment lets this tenant start or signal such a workflow.
create function waybill.workflow_allowed(p_tenant text, p_target jsonb) returns boolean
  language sql stable
begin atomic
  select exists (select from waybill.settings g
    cross join lateral jsonb_array_elements(g.workflow_targets) w
    where w->'taskQueue' = p_target->'taskQueue' and w->'workflowType' = p_target->'workflowType'
      and (w->'tenants' = 'null' or w->'tenants' ? p_tenant));
end;

-- How many attempts of a target may still be under way.
create function waybill.in_flight(p_tenant text, p_target text) returns integer
  language plpgsql volatile as $$
begin
  return (select count(*)::integer from waybill.delivery_attempts a
    where a.tenant_id = p_tenant and a.target_id = p_target and a.closed_at is null
      and a.deadline_at > clock_timestamp());
end
$$;

-- The same of all targets over HTTP of a tenant, its actions left aside: those wait in no worker.
create function waybill.tenant_in_flight(p_tenant text) returns integer
  language plpgsql volatile as $$
begin
  return (select coalesce(sum(x.under_way), 0)::integer
    from waybill.targets t cross join lateral (
      select count(*) as under_way from waybill.delivery_attempts a
        where a.tenant_id = t.tenant_id and a.target_id = t.target_id and a.closed_at is null
          and a.deadline_at > clock_timestamp()) x
    where t.tenant_id = p_tenant and t.kind = 'http')
    -- What is sent through connections has no target of that table: http/<instance>/<operation>.
    + (select count(*) from waybill.delivery_attempts a
      where a.tenant_id = p_tenant and a.target_id like 'http/%' and a.closed_at is null
        and a.deadline_at > clock_timestamp())::integer;
end
$$;

-- Whether a breaker that is not closed takes one attempt now.
create function waybill.admits_probe(s waybill.target_states) returns boolean
  language sql volatile
  return s.open_until <= clock_timestamp()
    and (s.probe_until is null or s.probe_until <= clock_timestamp());

-- Whether a target is not paused and its breaker is closed.
create function waybill.is_clear(p_tenant text, p_target text) returns boolean
  language plpgsql volatile as $$
begin
  return not exists (select from waybill.target_states s
    where s.tenant_id = p_tenant and s.target_id = p_target
      and (s.paused_at is not null or s.breaker <> 'closed'));
end
$$;

-- Whether what a closed attempt says of its target is what is known of it: then there is nothing to write.
create function waybill.is_usual(p_tenant text, p_target text, p_health text) returns boolean
  language plpgsql volatile as $$
declare
  s waybill.target_states;
begin
  select * into s from waybill.target_states where tenant_id = p_tenant and target_id = p_target;
  return coalesce(s.breaker, 'closed') = 'closed'
    and (p_health is null or (p_health = 'healthy' and coalesce(s.failures, 0) = 0));
end
$$;

-- Why no attempt may be opened at the target now: target_paused | breaker_open | target_busy |
-- tenant_busy, or draining: its gate is open again, and its turn comes; null: it may, and where the
-- breaker is not closed, this attempt is its probe. The caller holds the delivery's row lock and opens the attempt in
-- the same transaction. What is no call over HTTP has no breaker and is never busy.
create function waybill.target_gate(
  d waybill.deliveries, p_target text, p_kind text, p_deadline timestamptz
) returns text language plpgsql as $$
declare
  s waybill.target_states;
begin
  select * into s from waybill.target_states
    where tenant_id = d.tenant_id and target_id = p_target;
  if s.paused_at is not null then return 'target_paused'; end if;
  if s.breaker <> 'closed' and not waybill.admits_probe(s) then return 'breaker_open'; end if;
  if d.gate in ('subscription/' || d.subscription_id, 'target/' || p_target, 'busy/' || p_target) then
    return 'draining';
  end if;
  if p_kind <> 'http' then return null; end if;
  -- Those who open at once count one after the other; without it all of them would find room. It is
  -- the tenant's: its share is over all of its targets.
  perform pg_advisory_xact_lock(hashtextextended(format('waybill.in_flight/%s', d.tenant_id), 0));
  if waybill.in_flight(d.tenant_id, p_target) >= (select t.max_in_flight from waybill.targets t
      where t.tenant_id = d.tenant_id and t.target_id = p_target) then
    return 'target_busy';
  end if;
  if waybill.tenant_in_flight(d.tenant_id) >= (select g.tenant_in_flight from waybill.settings g) then
    return 'tenant_busy';
  end if;
  if s.breaker <> 'closed' then
    -- Whoever opens attempts at several targets may hold another one's already: nobody waits here.
    select * into s from waybill.target_states
      where tenant_id = d.tenant_id and target_id = p_target for update skip locked;
    if not found then return 'breaker_open'; end if;
    if s.breaker <> 'closed' then
      if not waybill.admits_probe(s) then return 'breaker_open'; end if;
      update waybill.target_states set breaker = 'half_open', probe_delivery = d.delivery_id,
          probe_attempt = d.attempts + 1, probe_until = p_deadline + interval '5 seconds'
        where tenant_id = d.tenant_id and target_id = p_target;
    end if;
  end if;
  return null;
end
$$;

-- What a closed attempt says of its target: p_health healthy | failing | null (nothing). Once the
-- breaker is not closed, only its probe decides. The caller holds the delivery's row lock.
create function waybill.note_target_health(
  a waybill.delivery_attempts, p_health text
) returns void language plpgsql as $$
declare
  s waybill.target_states;
  t waybill.targets;
  v_opens boolean;
begin
  -- The usual case costs a look and no write.
  if waybill.is_usual(a.tenant_id, a.target_id, p_health) then return; end if;
  insert into waybill.target_states (tenant_id, target_id) values (a.tenant_id, a.target_id)
    on conflict do nothing;
  select * into s from waybill.target_states
    where tenant_id = a.tenant_id and target_id = a.target_id for update;
  select * into t from waybill.targets where tenant_id = a.tenant_id and target_id = a.target_id;
  if s.breaker = 'closed' then
    v_opens := p_health = 'failing' and t.breaker_failures > 0 and s.failures + 1 >= t.breaker_failures;
  elsif s.probe_delivery is distinct from a.delivery_id or s.probe_attempt <> a.attempt_no then
    return;
  elsif p_health is null then
    -- Its worker was lost, or it was never sent: the next one tells.
    update waybill.target_states set breaker = 'open', open_until = clock_timestamp(),
        probe_delivery = null, probe_attempt = null, probe_until = null
      where tenant_id = a.tenant_id and target_id = a.target_id;
    return;
  else
    v_opens := p_health = 'failing';
  end if;
  update waybill.target_states set
      breaker = case when v_opens then 'open' else 'closed' end,
      failures = case when p_health = 'failing' then failures + 1 else 0 end,
      opens = case when v_opens then opens + 1 when p_health = 'healthy' then 0 else opens end,
      -- Twice as long each time, up to 16 times.
      open_until = case when v_opens then clock_timestamp()
        + make_interval(secs => t.breaker_open_ms / 1000.0 * power(2, least(opens, 4))) end,
      probe_delivery = null, probe_attempt = null, probe_until = null
    where tenant_id = a.tenant_id and target_id = a.target_id;
end
$$;

-- How many of those that wait at a rate may go now, and when the next one may. A rate saves up for a
-- second (a slower one for a single delivery), so that rounds need not be exact.
create function waybill.drain_turns(
  p_rate numeric, p_next timestamptz, p_limit integer, out turns integer, out next_at timestamptz
) language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_from timestamptz := greatest(p_next, v_now - make_interval(secs => greatest(1, 1 / p_rate)));
begin
  turns := greatest(0, least(p_limit,
    floor(extract(epoch from v_now - v_from) * p_rate + 0.000001)::integer));
  next_at := v_from + make_interval(secs => turns / p_rate);
end
$$;

-- Releases deliveries whose gate is open again, oldest first: a target or subscription's backlog at its
-- drain rate, one as the probe of a breaker whose time is over, and as many as a busy target has room
-- for. They are due for attention at once. Looks at p_gates gates behind the one that it is given, in
-- their order: however many stay closed, the others have their round. Across tenants: for
-- waybill_operations. Answers how many, and behind which gate the next round goes on (empty: anew).
create function waybill.release_gated(
  p_limit integer, p_gates integer, inout after_tenant text, inout after_gate text,
  out released integer
) language plpgsql as $$
declare
  g record;
  v_from_tenant text := after_tenant;
  v_from_gate text := after_gate;
  v_left integer := p_limit;
  v_turns integer;
  v_released integer;
begin
  after_tenant := '';
  after_gate := '';
  -- One index probe for each gate at which something waits.
  for g in with recursive gates as (
      (select d.tenant_id, d.gate from waybill.deliveries d
        where d.gate is not null and (d.tenant_id, d.gate) > (v_from_tenant, v_from_gate)
        order by d.tenant_id, d.gate limit 1)
      union all
      select n.tenant_id, n.gate from gates p cross join lateral (
        select d.tenant_id, d.gate from waybill.deliveries d
          where d.gate is not null and (d.tenant_id, d.gate) > (p.tenant_id, p.gate)
          order by d.tenant_id, d.gate limit 1) n)
    -- Another order in each round: whoever has much waiting does not always come first.
    select x.tenant_id, x.gate, split_part(x.gate, '/', 1) as kind, split_part(x.gate, '/', 2) as id,
        count(*) over () as walked, last_value(x.tenant_id) over whole as last_tenant,
        last_value(x.gate) over whole as last_gate
      from (select * from gates limit p_gates) x
      window whole as (order by x.tenant_id, x.gate
        rows between unbounded preceding and unbounded following)
      order by random()
  loop
    if g.walked = p_gates then
      after_tenant := g.last_tenant;
      after_gate := g.last_gate;
    end if;
    exit when v_left <= 0;
    v_turns := case g.kind
      when 'subscription' then waybill.subscription_turns(g.tenant_id, g.id, v_left)
      when 'target' then waybill.target_turns(g.tenant_id, g.id, v_left)
      else waybill.room_turns(g.tenant_id, g.id, v_left) end;
    if v_turns = 0 then continue; end if;
    with due as materialized (
      select d.tenant_id, d.delivery_id from waybill.deliveries d
        where d.tenant_id = g.tenant_id and d.gate = g.gate
        order by d.received_at, d.delivery_id limit v_turns for update skip locked
    )
    update waybill.deliveries d set
        gate = null, gated_at = null, reason = 'released', detail = null, waiting_since = null,
        -- As where it goes on by itself: a profile's total span does not count the time at the gate.
        series_started_at = d.series_started_at + (clock_timestamp() - d.gated_at),
        attend_at = clock_timestamp()
      from due where d.tenant_id = due.tenant_id and d.delivery_id = due.delivery_id;
    get diagnostics v_released = row_count;
    v_left := v_left - v_released;
  end loop;
  released := p_limit - v_left;
end
$$;

-- How many may leave the gate now at this rate (null: one, as a probe), if no other loop is at it.
create function waybill.take_turns(p_tenant text, p_gate text, p_rate numeric, p_limit integer)
returns integer language plpgsql as $$
declare
  t waybill.gate_turns;
  v record;
begin
  insert into waybill.gate_turns (tenant_id, gate) values (p_tenant, p_gate) on conflict do nothing;
  select * into t from waybill.gate_turns
    where tenant_id = p_tenant and gate = p_gate for update skip locked;
  if not found then return 0; end if;
  if p_rate is not null then
    select * into v from waybill.drain_turns(p_rate, t.next_at, p_limit);
  elsif coalesce(t.next_at <= clock_timestamp(), true) then
    -- No other before this one had time to become the probe.
    select 1 as turns, clock_timestamp() + interval '2 seconds' as next_at into v;
  else
    return 0;
  end if;
  if v.turns > 0 then
    update waybill.gate_turns set next_at = v.next_at where tenant_id = p_tenant and gate = p_gate;
  end if;
  return v.turns;
end
$$;

create function waybill.subscription_turns(p_tenant text, p_subscription text, p_limit integer)
returns integer language plpgsql as $$
declare
  s record;
begin
  select u.state, coalesce(u.drain_per_second, t.drain_per_second) as rate into s
    from waybill.subscriptions u join waybill.targets t using (tenant_id, target_id)
    where u.tenant_id = p_tenant and u.subscription_id = p_subscription;
  if s.state = 'paused' then return 0; end if;
  return waybill.take_turns(p_tenant, 'subscription/' || p_subscription, s.rate, p_limit);
end
$$;

create function waybill.target_turns(p_tenant text, p_target text, p_limit integer)
returns integer language plpgsql as $$
declare
  s waybill.target_states;
  v_rate numeric;
begin
  select * into s from waybill.target_states where tenant_id = p_tenant and target_id = p_target;
  if s.paused_at is not null or (s.breaker <> 'closed' and not waybill.admits_probe(s)) then
    return 0;
  end if;
  if coalesce(s.breaker, 'closed') = 'closed' then
    select t.drain_per_second into v_rate from waybill.targets t
      where t.tenant_id = p_tenant and t.target_id = p_target;
  end if;
  return waybill.take_turns(p_tenant, 'target/' || p_target, v_rate, p_limit);
end
$$;

-- Room at a busy target, within what its tenant has left. Once the target is paused or its breaker open,
-- what waits for room waits for that.
create function waybill.room_turns(p_tenant text, p_target text, p_limit integer)
returns integer language plpgsql as $$
declare
  v_why text;
begin
  select case when s.paused_at is not null then 'target_paused'
      when s.breaker <> 'closed' then 'breaker_open' end into v_why
    from waybill.target_states s where s.tenant_id = p_tenant and s.target_id = p_target;
  if v_why is null then
    return (select least(p_limit, greatest(0, least(
          t.max_in_flight - waybill.in_flight(p_tenant, p_target),
          g.tenant_in_flight - waybill.tenant_in_flight(p_tenant))))
      from waybill.targets t cross join waybill.settings g
      where t.tenant_id = p_tenant and t.target_id = p_target);
  end if;
  with moved as materialized (
    select d.delivery_id from waybill.deliveries d
      where d.tenant_id = p_tenant and d.gate = 'busy/' || p_target
      order by d.received_at limit 500 for update skip locked
  )
  update waybill.deliveries d set gate = 'target/' || p_target, detail = v_why
    from moved where d.tenant_id = p_tenant and d.delivery_id = moved.delivery_id;
  return 0;
end
$$;

-- Pauses a target or resumes it. Answers changed | unchanged | unknown. Attempts that are under way end
-- as they end; nothing new is opened once this is committed.
create function waybill.switch_target(
  p_tenant text, p_target text, p_pause boolean, p_actor text, p_reason text
) returns text language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  if not exists (select from waybill.targets where tenant_id = p_tenant and target_id = p_target) then
    return 'unknown';
  end if;
  insert into waybill.target_states (tenant_id, target_id) values (p_tenant, p_target)
    on conflict do nothing;
  update waybill.target_states set
      paused_at = case when p_pause then clock_timestamp() end,
      paused_by = case when p_pause then p_actor end,
      pause_reason = case when p_pause then p_reason end
    where tenant_id = p_tenant and target_id = p_target and (paused_at is null) = p_pause;
  if not found then return 'unchanged'; end if;
  perform waybill.audit_switch(p_tenant, p_pause, p_actor, 'target/' || p_target, p_reason);
  return 'changed';
end
$$;

-- Pauses a subscription or resumes it, whatever paused it. Answers changed | unchanged | deactivated |
-- unknown. A changed one tells of it with its event.
create function waybill.switch_subscription(
  p_tenant text, p_subscription text, p_pause boolean, p_actor text, p_reason text
) returns text language plpgsql as $$
declare
  s waybill.subscriptions;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  update waybill.subscriptions set
      state = case when p_pause then 'paused' else 'active' end, pause_reason = null,
      event_seq = event_seq + 1
    where tenant_id = p_tenant and subscription_id = p_subscription
      and state = case when p_pause then 'active' else 'paused' end
    returning * into s;
  if not found then
    select * into s from waybill.subscriptions
      where tenant_id = p_tenant and subscription_id = p_subscription;
    return case when not found then 'unknown' when s.state = 'deactivated' then s.state
      else 'unchanged' end;
  end if;
  perform waybill.tell_subscription_changed(s);
  perform waybill.audit_switch(p_tenant, p_pause, p_actor, 'subscription/' || p_subscription, p_reason);
  return 'changed';
end
$$;

create function waybill.audit_switch(
  p_tenant text, p_pause boolean, p_actor text, p_subject text, p_reason text
) returns void language sql
begin atomic
  insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
    values (p_tenant, p_actor, case when p_pause then 'pause' else 'resume' end, p_subject,
            jsonb_build_object('reason', p_reason));
end;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant select, insert, update on waybill.target_states to waybill_data;
grant select on waybill.target_states to waybill_operations, waybill_observer;
grant execute on function
  waybill.workflow_allowed(text, jsonb),
  waybill.in_flight(text, text),
  waybill.tenant_in_flight(text),
  waybill.admits_probe(waybill.target_states),
  waybill.is_clear(text, text),
  waybill.is_usual(text, text, text),
  waybill.target_gate(waybill.deliveries, text, text, timestamptz),
  waybill.note_target_health(waybill.delivery_attempts, text),
  waybill.switch_target(text, text, boolean, text, text),
  waybill.switch_subscription(text, text, boolean, text, text),
  waybill.tell_subscription_changed(waybill.subscriptions),
  waybill.audit_switch(text, boolean, text, text, text)
  to waybill_data;
grant update (gate, gated_at, reason, detail, waiting_since, series_started_at) on waybill.deliveries
  to waybill_operations;
grant select, insert, update on waybill.gate_turns to waybill_operations;
grant execute on function
  waybill.in_flight(text, text),
  waybill.tenant_in_flight(text),
  waybill.admits_probe(waybill.target_states),
  waybill.drain_turns(numeric, timestamptz, integer),
  waybill.release_gated(integer, integer, text, text),
  waybill.take_turns(text, text, numeric, integer),
  waybill.subscription_turns(text, text, integer),
  waybill.target_turns(text, text, integer),
  waybill.room_turns(text, text, integer)
  to waybill_operations;
