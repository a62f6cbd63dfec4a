-- Telling others: committed events get a place in the feed, are read from it page by page, are sent to
-- sinks, and go after their time.

alter table waybill.settings
  -- How long an event stays that every sink has taken.
  add column event_retention_days integer not null default 14
    check (event_retention_days between 1 and 3650),
  -- How long it stays for a sink that has not: no sink keeps the outbox for ever.
  add column event_hold_days integer not null default 30 check (event_hold_days between 1 and 3650);

-- The last place that was given out. Whoever gives places holds this row, so they are given in the
-- order in which they become visible: no reader meets one before a lower one.
create table waybill.event_feed (
  only_row boolean primary key default true check (only_row),
  last_feed_no bigint not null default 0
);
insert into waybill.event_feed default values;

-- Up to where a tenant's events have gone. Who has read less has missed some, and is told so.
create table waybill.event_horizons (
  tenant_id text primary key,
  forgotten_through bigint not null
);

create table waybill.event_sinks (
  tenant_id text not null,
  sink_id text not null,
  url text not null,
  timeout_ms integer not null check (timeout_ms between 100 and 60000),
  -- {'*'} takes every one.
  topics text[] not null check (cardinality(topics) >= 1),
  -- References to signing secrets, the newest first.
  secret_refs text[] not null check (cardinality(secret_refs) between 1 and 2),
  state text not null check (state in ('active', 'paused')),
  pause_reason text,
  -- Every event up to this place was taken, is not for it, or waits in event_sink_parked.
  passed bigint not null,
  -- The fence: grows with each claim, so that who lost the sink meanwhile moves nothing any more.
  lease_no bigint not null default 0,
  lease_ends_at timestamptz,
  served_at timestamptz,
  -- Since its last event was taken.
  failures integer not null default 0 check (failures >= 0),
  failing_since timestamptz,
  next_attempt_at timestamptz,
  reason text,
  detail text,
  taken_at timestamptz,
  -- Events for it that went before it took them.
  missed bigint not null default 0,
  missed_at timestamptz,
  primary key (tenant_id, sink_id),
  check (state = 'paused' or pause_reason is null)
);

-- Aggregates of which a sink refused an event for what it is: it and those after it wait here, while
-- the sink goes on with all others.
create table waybill.event_sink_parked (
  tenant_id text not null,
  sink_id text not null,
  -- The tenant of the event: the sink's own, or the platform.
  event_tenant_id text not null,
  aggregate text not null,
  from_feed_no bigint not null,
  failures integer not null default 1,
  next_attempt_at timestamptz not null,
  reason text not null,
  detail text,
  parked_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, sink_id, event_tenant_id, aggregate),
  foreign key (tenant_id, sink_id) references waybill.event_sinks
);

-- Gives committed events their places, up to so many; answers how many. Of one aggregate the lower
-- sequence is always visible first and has the lower position, so its order holds in the feed. Places
-- go on above the clock: those that are given after a restore are above all that a reader remembers.
-- 0 also when another process is at it.
create function waybill.sequence_events(p_limit integer) returns integer language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
  -- Whatever the planner believes of a table that was empty when it was counted.
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_last bigint;
  v_count integer;
begin
  select last_feed_no into v_last from waybill.event_feed for update skip locked;
  if not found then return 0; end if;
  v_last := greatest(v_last, floor(extract(epoch from clock_timestamp()) * 1000)::bigint);
  with fresh as materialized (
    select e.position, row_number() over (order by e.position) as nth
      from (select o.position from waybill.outbox_events o where o.feed_no is null
        order by o.position limit p_limit) e)
  update waybill.outbox_events o set feed_no = v_last + f.nth
    from fresh f where o.position = f.position and o.feed_no is null;
  get diagnostics v_count = row_count;
  if v_count > 0 then
    update waybill.event_feed set last_feed_no = v_last + v_count;
  end if;
  return v_count;
end
$$;

-- The events that a tenant may see behind a place, its own and the platform's, in the feed's order.
create function waybill.events_behind(p_tenant text, p_after bigint, p_limit integer)
returns setof waybill.outbox_events language sql stable
begin atomic
  select * from (
    (select * from waybill.outbox_events where tenant_id = p_tenant and feed_no > p_after
      order by feed_no limit p_limit)
    union all
    (select * from waybill.outbox_events where tenant_id = '_platform' and feed_no > p_after
      order by feed_no limit p_limit)) e
    order by feed_no limit p_limit;
end;

-- One event as CloudEvents are made of; instants in UTC.
create function waybill.event_facts(e waybill.outbox_events) returns jsonb
  language sql stable
  return jsonb_build_object('tenantId', e.tenant_id, 'aggregate', e.aggregate,
    'sequence', e.aggregate_seq, 'feedNo', e.feed_no, 'topic', e.topic, 'data', e.payload,
    'occurredAt', to_char(e.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'));

-- A page of the feed behind a place (null: the first from which nothing is missing), of these topics
-- (null: of all). Looks at 1,000 events at most: `through` is the place to go on from, `more` whether
-- it is worth while at once. forgotten: events behind that place have gone already.
create function waybill.read_events(p_tenant text, p_after bigint, p_topics text[], p_limit integer)
returns jsonb language plpgsql as $$
declare
  v_horizon bigint;
  v_page jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  -- One statement: what goes between the look at the horizon and the page would be missed unsaid.
  with horizon as materialized (
    select coalesce(max(h.forgotten_through), 0) as through from waybill.event_horizons h
      where h.tenant_id in (p_tenant, '_platform')),
  looked_at as materialized (
    select e as event, e.feed_no, e.topic
      from horizon h cross join lateral
        waybill.events_behind(p_tenant, coalesce(p_after, h.through), 1000) e),
  found as materialized (
    select * from looked_at l where p_topics is null or l.topic = any (p_topics)
      order by l.feed_no limit p_limit),
  figures as (
    select (select count(*) from found) = p_limit as full_page,
      (select count(*) from looked_at) as looked, (select max(feed_no) from looked_at) as last_looked,
      (select max(feed_no) from found) as last_found)
  select h.through, jsonb_build_object('answer', 'page',
      'through', coalesce(case when full_page then last_found else last_looked end,
        p_after, h.through),
      'more', (full_page and last_looked > last_found) or looked = 1000,
      'events', coalesce((select jsonb_agg(waybill.event_facts(f.event) order by f.feed_no)
        from found f), '[]'))
    into v_horizon, v_page from figures cross join horizon h;
  return case when p_after < v_horizon then jsonb_build_object('answer', 'forgotten') else v_page end;
end
$$;

-- The place behind all that a tenant may see now; 0: there is nothing.
create function waybill.feed_end(p_tenant text) returns bigint language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  return greatest(0,
    (select max(h.forgotten_through) from waybill.event_horizons h
      where h.tenant_id in (p_tenant, '_platform')),
    (select max(e.feed_no) from waybill.outbox_events e where e.tenant_id = p_tenant),
    (select max(e.feed_no) from waybill.outbox_events e where e.tenant_id = '_platform'));
end
$$;

-- Whether a sink has anything to do now: an event behind its place, or one to try again.
create function waybill.sink_has_work(s waybill.event_sinks) returns boolean
  language sql volatile
  return exists (select from waybill.outbox_events e
      where e.tenant_id = s.tenant_id and e.feed_no > s.passed)
    or exists (select from waybill.outbox_events e
      where e.tenant_id = '_platform' and e.feed_no > s.passed)
    or exists (select from waybill.event_sink_parked p where p.tenant_id = s.tenant_id
      and p.sink_id = s.sink_id and p.next_attempt_at <= clock_timestamp());

-- How long a sink is leased: for a call that takes all its time, and one more, and what is around them.
create function waybill.sink_lease_ms(p_timeout_ms integer) returns integer
  language sql immutable parallel safe
  return 2 * p_timeout_ms + 10000;

-- Claims sinks that have work and that nobody serves, the longest unserved first.
create function waybill.claim_event_sinks(p_limit integer)
returns table (tenant_id text, sink_id text, lease_no bigint) language sql
begin atomic
  with due as materialized (
    select s.tenant_id, s.sink_id from waybill.event_sinks s
      where s.state = 'active'
        and (s.lease_ends_at is null or s.lease_ends_at <= clock_timestamp())
        and (s.next_attempt_at is null or s.next_attempt_at <= clock_timestamp())
        and waybill.sink_has_work(s)
      order by s.served_at nulls first limit p_limit for update skip locked)
  update waybill.event_sinks s
    set lease_no = s.lease_no + 1, served_at = clock_timestamp(),
        lease_ends_at = clock_timestamp()
          + make_interval(secs => waybill.sink_lease_ms(s.timeout_ms) / 1000.0)
    from due where s.tenant_id = due.tenant_id and s.sink_id = due.sink_id
    returning s.tenant_id, s.sink_id, s.lease_no;
end;

-- What the holder of the lease sends next, and where: up to p_limit events behind its place, and those
-- of parked aggregates whose time has come. Extends the lease. lost: somebody else serves it, or it is
-- paused.
create function waybill.next_sink_events(
  p_tenant text, p_sink text, p_lease_no bigint, p_limit integer
) returns jsonb language plpgsql as $$
declare
  s waybill.event_sinks;
  v_limit integer;
  v_through bigint;
  v_events jsonb;
begin
  update waybill.event_sinks e
    set lease_ends_at = clock_timestamp()
      + make_interval(secs => waybill.sink_lease_ms(e.timeout_ms) / 1000.0)
    where e.tenant_id = p_tenant and e.sink_id = p_sink and e.lease_no = p_lease_no
      and e.state = 'active'
    returning * into s;
  if s.sink_id is null then return jsonb_build_object('answer', 'lost'); end if;
  -- Nothing waits there any more: it was taken, or has gone. Before the rest is chosen, so that what
  -- came meanwhile is among it.
  delete from waybill.event_sink_parked p
    where p.tenant_id = p_tenant and p.sink_id = p_sink
      and not exists (select from waybill.outbox_events e where e.tenant_id = p.event_tenant_id
        and e.aggregate = p.aggregate and e.feed_no between p.from_feed_no and s.passed
        and (s.topics = array['*'] or e.topic = any (s.topics)));
  -- Of one that is down, a single event finds out whether it still is.
  v_limit := case when s.failures > 0 then 1 else p_limit end;
  with looked_at as materialized (
    select e as event, e.feed_no, e.topic, e.tenant_id, e.aggregate
      from waybill.events_behind(p_tenant, s.passed, 1000) e),
  wanted as materialized (
    select l.event, l.feed_no from looked_at l
      where (s.topics = array['*'] or l.topic = any (s.topics))
        and not exists (select from waybill.event_sink_parked p where p.tenant_id = p_tenant
          and p.sink_id = p_sink and p.event_tenant_id = l.tenant_id and p.aggregate = l.aggregate)
      order by l.feed_no limit v_limit)
  select case when (select count(*) from wanted) = v_limit then (select max(feed_no) from wanted)
      else (select max(feed_no) from looked_at) end,
    (select jsonb_agg(waybill.event_facts(w.event) order by w.feed_no) from wanted w)
    into v_through, v_events;
  return jsonb_build_object('answer', 'events', 'url', s.url, 'timeoutMs', s.timeout_ms,
    'leaseMs', waybill.sink_lease_ms(s.timeout_ms),
    'secretRefs', s.secret_refs, 'failures', s.failures, 'passed', s.passed,
    'through', coalesce(v_through, s.passed), 'events', coalesce(v_events, '[]'),
    'parked', (select count(*) from waybill.event_sink_parked p
      where p.tenant_id = p_tenant and p.sink_id = p_sink),
    -- One that is down is not asked again for what it refused before.
    'again', case when s.failures > 0 and v_events is not null then '[]'
      else waybill.parked_events(s) end,
    'now', clock_timestamp());
end
$$;

-- Of up to ten aggregates whose time has come, up to ten events each, in their order.
create function waybill.parked_events(s waybill.event_sinks) returns jsonb
  language sql volatile
  return coalesce((select jsonb_agg(jsonb_build_object('tenantId', d.event_tenant_id,
      'aggregate', d.aggregate, 'failures', d.failures, 'events', (
        select jsonb_agg(waybill.event_facts(e) order by e.aggregate_seq)
          from (select o.* from waybill.outbox_events o where o.tenant_id = d.event_tenant_id
            and o.aggregate = d.aggregate and o.feed_no between d.from_feed_no and s.passed
            and (s.topics = array['*'] or o.topic = any (s.topics))
            order by o.aggregate_seq limit 10) e)))
    from (select * from waybill.event_sink_parked p
      where p.tenant_id = s.tenant_id and p.sink_id = s.sink_id
        and p.next_attempt_at <= clock_timestamp()
      order by p.next_attempt_at limit 10) d), '[]');

-- Writes down what became of a batch. p_result: {passed, taken, alive, parked: [{tenantId, aggregate,
-- fromFeedNo, failures, delayMs, reason, detail}], failure: null or {reason, detail, delayMs}, pause:
-- null or the reason, release}. False: the lease was lost, nothing was written.
create function waybill.settle_sink_events(
  p_tenant text, p_sink text, p_lease_no bigint, p_result jsonb
) returns boolean language plpgsql as $$
declare
  v_failure jsonb := nullif(p_result->'failure', 'null');
  -- It answered at least one event by itself.
  v_alive boolean := (p_result->>'alive')::boolean;
begin
  update waybill.event_sinks s set
      passed = greatest(s.passed, (p_result->>'passed')::bigint),
      taken_at = case when (p_result->>'taken')::integer > 0 then clock_timestamp() else s.taken_at end,
      failures = case when v_failure is not null then case when v_alive then 1 else s.failures + 1 end
        when v_alive then 0 else s.failures end,
      failing_since = case when v_failure is not null then
          case when v_alive then clock_timestamp() else coalesce(s.failing_since, clock_timestamp()) end
        when v_alive then null else s.failing_since end,
      next_attempt_at = case when v_failure is not null
        then clock_timestamp() + make_interval(secs => (v_failure->>'delayMs')::numeric / 1000.0) end,
      reason = case when v_failure is not null then v_failure->>'reason'
        when not v_alive then s.reason end,
      detail = case when v_failure is not null then v_failure->>'detail'
        when not v_alive then s.detail end,
      state = case when p_result->>'pause' is null then s.state else 'paused' end,
      pause_reason = coalesce(p_result->>'pause', s.pause_reason),
      lease_ends_at = case when (p_result->>'release')::boolean then null else s.lease_ends_at end
    where s.tenant_id = p_tenant and s.sink_id = p_sink and s.lease_no = p_lease_no;
  if not found then return false; end if;
  insert into waybill.event_sink_parked as p (tenant_id, sink_id, event_tenant_id, aggregate,
      from_feed_no, failures, next_attempt_at, reason, detail)
    select p_tenant, p_sink, r."tenantId", r.aggregate, r."fromFeedNo", r.failures,
        clock_timestamp() + make_interval(secs => r."delayMs" / 1000.0), r.reason, r.detail
      from jsonb_to_recordset(p_result->'parked') as r("tenantId" text, aggregate text,
        "fromFeedNo" bigint, failures integer, "delayMs" numeric, reason text, detail text)
    on conflict (tenant_id, sink_id, event_tenant_id, aggregate) do update
      set from_feed_no = excluded.from_feed_no, failures = excluded.failures,
          next_attempt_at = excluded.next_attempt_at, reason = excluded.reason,
          detail = excluded.detail;
  return true;
end
$$;

-- Removes up to p_limit events of one tenant from the beginning of its feed: those old enough that
-- every sink has taken, and those that no sink may keep any longer, which the sinks then count as
-- missed. It looks past those that a sink still wants, at twenty times as many in all. Answers {events, missed}.
create function waybill.forget_tenant_events(p_tenant text, p_limit integer) returns jsonb
  language plpgsql as $$
declare
  v_keep timestamptz;
  v_hold timestamptz;
  v_forgotten bigint;
  v_events integer;
  v_missed integer;
begin
  select clock_timestamp() - make_interval(days => g.event_retention_days),
      clock_timestamp() - make_interval(days => greatest(g.event_retention_days, g.event_hold_days))
    into v_keep, v_hold from waybill.settings g;
  with oldest as materialized (
    select e.tenant_id, e.aggregate, e.feed_no, e.topic, e.occurred_at from waybill.outbox_events e
      where e.tenant_id = p_tenant and e.feed_no is not null order by e.feed_no limit 20 * p_limit),
  untaken as materialized (
    select s.tenant_id, s.sink_id, o.feed_no from oldest o
      join waybill.event_sinks s on (s.tenant_id = p_tenant or p_tenant = '_platform')
        and (s.topics = array['*'] or o.topic = any (s.topics))
      where o.occurred_at < v_keep and (o.feed_no > s.passed or exists (
        select from waybill.event_sink_parked p where p.tenant_id = s.tenant_id
          and p.sink_id = s.sink_id and p.event_tenant_id = p_tenant and p.aggregate = o.aggregate
          and p.from_feed_no <= o.feed_no))),
  going as materialized (
    select o.feed_no from oldest o where o.occurred_at < v_keep
        and (o.occurred_at < v_hold or not exists (select from untaken u where u.feed_no = o.feed_no))
      order by o.feed_no limit p_limit),
  gone as (
    delete from waybill.outbox_events e using going o
      where e.tenant_id = p_tenant and e.feed_no = o.feed_no
      returning e.feed_no),
  lost as (
    select u.tenant_id, u.sink_id, count(*) as missed from untaken u join gone using (feed_no)
      group by u.tenant_id, u.sink_id),
  told as (
    update waybill.event_sinks s set missed = s.missed + l.missed, missed_at = clock_timestamp()
      from lost l where s.tenant_id = l.tenant_id and s.sink_id = l.sink_id)
  select count(*), max(g.feed_no), coalesce((select sum(l.missed) from lost l), 0)
    into v_events, v_forgotten, v_missed from gone g;
  if v_events > 0 then
    insert into waybill.event_horizons as h (tenant_id, forgotten_through)
      values (p_tenant, v_forgotten)
      on conflict (tenant_id) do update
        set forgotten_through = greatest(h.forgotten_through, excluded.forgotten_through);
  end if;
  return jsonb_build_object('events', v_events, 'missed', v_missed);
end
$$;

-- The same over all tenants, up to p_limit in all.
create function waybill.forget_events(p_limit integer) returns jsonb language plpgsql as $$
declare
  v_tenant text;
  v_one jsonb;
  v_events integer := 0;
  v_missed integer := 0;
begin
  for v_tenant in
    with recursive tenants as (
      (select e.tenant_id from waybill.outbox_events e order by e.tenant_id limit 1)
      union all
      select (select e.tenant_id from waybill.outbox_events e where e.tenant_id > t.tenant_id
          order by e.tenant_id limit 1)
        from tenants t where t.tenant_id is not null)
    select t.tenant_id from tenants t where t.tenant_id is not null
  loop
    exit when v_events >= p_limit;
    v_one := waybill.forget_tenant_events(v_tenant, p_limit - v_events);
    v_events := v_events + (v_one->>'events')::integer;
    v_missed := v_missed + (v_one->>'missed')::integer;
  end loop;
  return jsonb_build_object('events', v_events, 'missed', v_missed);
end
$$;

alter table waybill.event_horizons enable row level security;
create policy platform_or_own on waybill.event_horizons to waybill_data, waybill_observer
  using (tenant_id in (waybill.current_tenant(), '_platform') and waybill.current_tenant() is not null);
create policy across_tenants on waybill.event_horizons to waybill_operations using (true);
alter table waybill.event_sinks enable row level security;
create policy one_tenant on waybill.event_sinks to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.event_sinks to waybill_operations using (true);
create policy publication on waybill.event_sinks to waybill_control using (true);
alter table waybill.event_sink_parked enable row level security;
create policy one_tenant on waybill.event_sink_parked to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.event_sink_parked to waybill_operations using (true);

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant select on waybill.event_horizons, waybill.event_sinks, waybill.event_sink_parked
  to waybill_data, waybill_operations, waybill_observer;
-- A new sink begins at the feed's end.
grant select on waybill.event_feed to waybill_control, waybill_operations;
grant select, insert, update on waybill.event_sinks to waybill_control;
grant update on waybill.event_feed to waybill_operations;
grant insert, update on waybill.event_horizons to waybill_operations;
grant select, delete, update (feed_no) on waybill.outbox_events to waybill_operations;
-- All but what a publication says of it.
grant update (state, pause_reason, passed, lease_no, lease_ends_at, served_at, failures,
  failing_since, next_attempt_at, reason, detail, taken_at, missed, missed_at)
  on waybill.event_sinks to waybill_operations;
grant insert, update, delete on waybill.event_sink_parked to waybill_operations;
grant execute on function
  waybill.read_events(text, bigint, text[], integer), waybill.feed_end(text) to waybill_data;
grant execute on function waybill.events_behind(text, bigint, integer),
  waybill.event_facts(waybill.outbox_events) to waybill_data, waybill_operations;
grant execute on function waybill.sequence_events(integer),
  waybill.sink_has_work(waybill.event_sinks),
  waybill.sink_lease_ms(integer),
  waybill.claim_event_sinks(integer),
  waybill.next_sink_events(text, text, bigint, integer),
  waybill.parked_events(waybill.event_sinks),
  waybill.settle_sink_events(text, text, bigint, jsonb),
  waybill.forget_tenant_events(text, integer),
  waybill.forget_events(integer) to waybill_operations;
