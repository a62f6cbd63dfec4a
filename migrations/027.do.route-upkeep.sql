-- Keeping what routing has written: actions that are over become tombstones, counters are audited, and
-- after a restore from a backup nothing is routed afresh.

alter table waybill.settings
  -- How long a closed action is kept whole.
  add column action_retention_days integer not null default 30
    check (action_retention_days between 1 and 3650),
  -- How long its tombstone is kept after that. Once it is gone, its id is new again.
  add column tombstone_retention_days integer not null default 400
    check (tombstone_retention_days between 1 and 36500),
  -- Since a restore: nothing is reserved or sent. null: not recovering.
  add column recovering_since timestamptz;

-- What is left of an action: enough to know it again, and to say what became of it.
create table waybill.action_tombstones (
  tenant_id text not null,
  action_id text not null,
  capability_id text not null,
  request_sha256 bytea not null check (length(request_sha256) = 32),
  outcome text not null check (outcome in ('succeeded', 'failed', 'cancelled')),
  result_sha256 bytea check (length(result_sha256) = 32),
  error_code text,
  delivery_id uuid,
  requested_by text not null,
  retry_budget integer not null,
  created_at timestamptz not null,
  deadline_at timestamptz not null,
  closed_at timestamptz not null,
  buried_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, action_id)
);
create index action_tombstones_by_age on waybill.action_tombstones (buried_at);

create index actions_closed_by_age on waybill.actions (closed_at) where closed_at is not null;
-- Whether other actions have the same bytes.
create index actions_by_request on waybill.actions (tenant_id, request_sha256);
create index actions_by_result on waybill.actions (tenant_id, result_sha256)
  where result_sha256 is not null;

alter table waybill.artifacts
  -- A delivery has these bytes, or may have: then they are not an action's to remove.
  add column of_delivery boolean not null default true,
  -- The last action that is known to have had them is gone, and they go then, unless another one has
  -- them after all. null: somebody has them.
  add column release_at timestamptz;
create index artifacts_to_release on waybill.artifacts (release_at) where release_at is not null;

-- Each of the two looks again when bytes that were there are gone: they had waited to be removed.
create or replace function waybill.keep_artifact(p_tenant text, p_sha256 bytea, p_content bytea)
  returns void language plpgsql as $$
begin
  loop
    insert into waybill.artifacts (tenant_id, sha256, content) values (p_tenant, p_sha256, p_content)
      on conflict do nothing;
    exit when found;
    update waybill.artifacts set of_delivery = true, release_at = null
      where tenant_id = p_tenant and sha256 = p_sha256 and (not of_delivery or release_at is not null);
    exit when found;
    perform from waybill.artifacts where tenant_id = p_tenant and sha256 = p_sha256 and of_delivery;
    exit when found;
  end loop;
end
$$;

create function waybill.keep_action_artifact(p_tenant text, p_sha256 bytea, p_content bytea)
  returns void language plpgsql as $$
begin
  loop
    insert into waybill.artifacts (tenant_id, sha256, content, of_delivery)
      values (p_tenant, p_sha256, p_content, false) on conflict do nothing;
    exit when found;
    -- Locks nothing as long as somebody else has them.
    update waybill.artifacts set release_at = null
      where tenant_id = p_tenant and sha256 = p_sha256 and release_at is not null;
    exit when found;
    perform from waybill.artifacts where tenant_id = p_tenant and sha256 = p_sha256;
    exit when found;
  end loop;
end
$$;

-- The action as its tombstone tells of it.
create function waybill.buried_action(b waybill.action_tombstones) returns waybill.actions
  language sql stable
  return jsonb_populate_record(null::waybill.actions, jsonb_build_object(
    'tenant_id', b.tenant_id, 'action_id', b.action_id, 'capability_id', b.capability_id,
    'request_sha256', b.request_sha256, 'version', 1, 'requested_by', b.requested_by,
    'state', case b.outcome when 'succeeded' then 'completed' else b.outcome end,
    'result_outcome', b.outcome, 'result_sha256', b.result_sha256, 'error_code', b.error_code,
    'retry_budget', b.retry_budget, 'budget_from', 0, 'deadline_at', b.deadline_at,
    'created_at', b.created_at, 'closed_at', b.closed_at, 'delivery_id', b.delivery_id,
    'uncertain', false, 'repeatable', false, 'begin_anew', false,
    'event_seq', 0, 'receipt_seq', 0));

-- The action or what is left of it, as of one moment; its action_id is null where there is neither.
create function waybill.find_action(p_tenant text, p_action text) returns waybill.actions
  language plpgsql stable as $$
declare
  a waybill.actions;
  b waybill.action_tombstones;
begin
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action;
  if found then return a; end if;
  select * into b from waybill.action_tombstones where tenant_id = p_tenant and action_id = p_action;
  if found then return waybill.buried_action(b); end if;
  return null;
end
$$;

-- An id is not started while its action becomes a tombstone: starting shares this lock, burying has it
-- alone.
create function waybill.start_lock(p_tenant text, p_action text) returns bigint language sql immutable
  return hashtextextended(p_tenant || '/' || p_action, hashtextextended('waybill.start', 0));

-- Retention. One batch of at most p_limit of each: actions whose time is over become tombstones, bytes
-- that nobody has for 24 h are removed, old tombstones too. Answers how many of each. What somebody
-- has locked is left for the next batch, and nothing is waited for. For waybill_operations.
create function waybill.retain_actions(p_limit integer) returns jsonb language plpgsql as $$
declare
  v_settings waybill.settings;
  v_gone waybill.actions[];
  v_artifacts integer;
  v_tombstones integer;
begin
  select * into v_settings from waybill.settings;
  with due as materialized (
    select a as action from waybill.actions a
      where a.closed_at < clock_timestamp() - make_interval(days => v_settings.action_retention_days)
        and not exists (select from waybill.route_attempts t where t.tenant_id = a.tenant_id
          and t.action_id = a.action_id and t.settled_at is null)
        -- A delivery that is not over may still look at it.
        and not exists (select from waybill.deliveries d where d.tenant_id = a.tenant_id
          and d.delivery_id = a.delivery_id and d.attend_at is not null)
      order by a.closed_at limit p_limit for update of a skip locked
  )
  select coalesce(array_agg(d.action), '{}') into v_gone from due d where pg_try_advisory_xact_lock(
    waybill.start_lock((d.action).tenant_id, (d.action).action_id));
  insert into waybill.action_tombstones (tenant_id, action_id, capability_id, request_sha256, outcome,
      result_sha256, error_code, delivery_id, requested_by, retry_budget, created_at, deadline_at,
      closed_at)
    select g.tenant_id, g.action_id, g.capability_id, g.request_sha256, g.result_outcome,
        g.result_sha256, g.error_code, g.delivery_id, g.requested_by, g.retry_budget, g.created_at,
        g.deadline_at, g.closed_at
      from unnest(v_gone) g;
  delete from waybill.route_attempts t using unnest(v_gone) g
    where t.tenant_id = g.tenant_id and t.action_id = g.action_id;
  delete from waybill.routes r using unnest(v_gone) g
    where r.tenant_id = g.tenant_id and r.action_id = g.action_id;
  delete from waybill.actions a using unnest(v_gone) g
    where a.tenant_id = g.tenant_id and a.action_id = g.action_id;
  update waybill.artifacts k set release_at = clock_timestamp() + interval '24 hours'
    from (select g.tenant_id, g.request_sha256 as sha256 from unnest(v_gone) g
      union select g.tenant_id, g.result_sha256 from unnest(v_gone) g) o
    where k.tenant_id = o.tenant_id and k.sha256 = o.sha256 and not k.of_delivery;
  v_artifacts := waybill.release_artifacts(p_limit);
  with old as materialized (
    select b.tenant_id, b.action_id from waybill.action_tombstones b
      where b.buried_at < clock_timestamp() - make_interval(days => greatest(
          v_settings.tombstone_retention_days, waybill.longest_receipt_days(v_settings)))
        -- The next action of its id begins another chain.
        and not exists (select from waybill.receipts r
          where r.tenant_id = b.tenant_id and r.subject = 'action/' || b.action_id)
      order by b.buried_at limit p_limit for update skip locked
  )
  delete from waybill.action_tombstones b using old
    where b.tenant_id = old.tenant_id and b.action_id = old.action_id;
  get diagnostics v_tombstones = row_count;
  return jsonb_build_object('actions', cardinality(v_gone), 'artifacts', v_artifacts,
    'tombstones', v_tombstones);
end
$$;

-- Removes bytes whose time has come; those that an action or a delivery has after all are kept, and those
-- that evidence is about: a report of a certification may have been sent as a payload, too. Says how many it
-- has looked at.
create function waybill.release_artifacts(p_limit integer) returns integer language plpgsql as $$
declare
  v_due integer;
begin
  with due as materialized (
    select k.tenant_id, k.sha256 from waybill.artifacts k where k.release_at <= clock_timestamp()
      order by k.release_at limit p_limit for update skip locked
  ), judged as materialized (
    select n.*, n.delivery or exists (select from waybill.actions a
          where a.tenant_id = n.tenant_id and a.request_sha256 = n.sha256)
        or exists (select from waybill.actions a
          where a.tenant_id = n.tenant_id and a.result_sha256 = n.sha256)
        or exists (select from waybill.evidence_statements e
          where e.content_ref = format('artifact:%s/%s', n.tenant_id, encode(n.sha256, 'hex'))) as used
      from (select d.*, waybill.delivery_needs(d.tenant_id, d.sha256) as delivery from due d) n
  ), kept as (
    update waybill.artifacts k set release_at = null, of_delivery = j.delivery from judged j
      where j.used and k.tenant_id = j.tenant_id and k.sha256 = j.sha256
  ), removed as (
    delete from waybill.artifacts k using judged j
      where not j.used and k.tenant_id = j.tenant_id and k.sha256 = j.sha256
  )
  select count(*) into v_due from judged;
  return v_due;
end
$$;

-- The audit. A counter that says something else than the open attempts do.
create type waybill.counter_difference as (
  counter text,     -- active_assignments | probes: of a replica; held: of a quota scope
  tenant_id text,   -- null: shared by all tenants
  scope text,       -- of the quota; null of a replica
  subject text,     -- the replica, or the scope's key
  recorded integer,
  counted integer
);

-- Everything is read as of one moment, and whoever takes or frees does it in one transaction: what
-- differs here is wrong.
create function waybill.counter_differences(p_limit integer) returns setof waybill.counter_difference
  language sql stable
begin atomic
  with open_by_replica as (
    select replica_id, count(*) as open, count(*) filter (where probe) as probes
      from waybill.route_attempts where settled_at is null group by replica_id
  ), held_by_scope as (
    select c->>'scope' as scope, c->>'key' as key, min(t.tenant_id) as tenant_id, count(*) as held
      from waybill.route_attempts t cross join jsonb_array_elements(t.counters) c
      where t.settled_at is null group by 1, 2
  )
  (select 'active_assignments', r.tenant_id, null, r.replica_id, r.active_assignments,
      coalesce(o.open, 0)::integer
    from waybill.replicas r left join open_by_replica o using (replica_id)
    where r.active_assignments <> coalesce(o.open, 0)
  union all
  select 'probes', r.tenant_id, null, r.replica_id, r.probes, coalesce(o.probes, 0)::integer
    from waybill.replicas r left join open_by_replica o using (replica_id)
    where r.probes <> coalesce(o.probes, 0)
  union all
  select 'held', case when s.scope not in ('connector', 'global') then
        coalesce(q.tenant_id, h.tenant_id) end, s.scope, s.key, coalesce(q.held, 0),
      coalesce(h.held, 0)::integer
    from waybill.quota_counters q
      full join held_by_scope h on h.scope = q.scope and h.key = q.scope_key
      cross join lateral (select coalesce(q.scope, h.scope) as scope,
        coalesce(q.scope_key, h.key) as key) s
    where coalesce(q.held, 0) <> coalesce(h.held, 0)
  ) limit p_limit;
end;

-- Takes what is too much off each counter, and adds what is missing; answers what it has mended, at most
-- p_limit. By how much a counter is wrong stays the same whatever is taken or freed meanwhile, so that
-- each is corrected as it is by then. Locks in the order of routing: replicas, then counters from the
-- narrowest scope to the widest.
create function waybill.mend_counters(p_by text, p_limit integer)
  returns setof waybill.counter_difference language plpgsql as $$
declare
  d waybill.counter_difference;
begin
  -- Two that mend the same would mend it twice.
  perform pg_advisory_xact_lock(hashtextextended('waybill.counter-audit', 0));
  for d in select x.* from waybill.counter_differences(p_limit) x
    order by array_position(array['binding', 'instance', 'connector', 'tenant_retry', 'tenant',
      'global'], x.scope) nulls first, x.subject, x.counter
  loop
    if d.counter = 'held' then
      insert into waybill.quota_counters as q (scope, scope_key, tenant_id, held)
        values (d.scope, d.subject, d.tenant_id, d.counted)
        on conflict (scope, scope_key) do update set held = q.held - (d.recorded - d.counted);
    else
      update waybill.replicas r set
          active_assignments = r.active_assignments
            - case d.counter when 'active_assignments' then d.recorded - d.counted else 0 end,
          probes = r.probes - case d.counter when 'probes' then d.recorded - d.counted else 0 end
        where r.replica_id = d.subject;
    end if;
    insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
      values (d.tenant_id, p_by, 'counter.mend', concat_ws('/', d.counter, d.scope, d.subject),
        jsonb_build_object('recorded', d.recorded, 'counted', d.counted));
    return next d;
  end loop;
end
$$;

-- Recovery. After a restore the rows are older than what was done: from now on nothing is reserved or
-- sent, and every host has to register anew, under an incarnation above all that it ever had.
create function waybill.begin_recovery(p_by text) returns timestamptz language plpgsql as $$
declare
  v_since timestamptz := clock_timestamp();
begin
  update waybill.settings set recovering_since = v_since;
  update waybill.replicas set status = 'offline', lease_ends_at = '-infinity', contrary = 0,
    sequence = sequence + 1, health_revision = health_revision + 1,
    incarnation = greatest(incarnation + 1, floor(extract(epoch from v_since))::bigint);
  -- What is being sent to vendors may have been sent since; only some of those know repeats.
  update waybill.deliveries set restored = true,
      uncertain = uncertain or sending->>'sideEffect' <> 'read'
    where direction = 'outbound' and attend_at is not null;
  -- What had failed may have been replayed since.
  update waybill.deliveries set restored = true, uncertain = true, detail = concat_ws('; ', detail,
      'the database was restored, and it may have been replayed and sent since the backup')
    where direction = 'outbound' and state = 'Failed' and not restored
      and sending->>'sideEffect' <> 'read';
  insert into waybill.audit_log (tenant_id, actor, action, subject)
    values (null, p_by, 'recovery.begin', 'deployment');
  return v_since;
end
$$;

-- False: it was not recovering.
create function waybill.end_recovery(p_by text) returns boolean language plpgsql as $$
begin
  update waybill.settings set recovering_since = null where recovering_since is not null;
  if not found then return false; end if;
  insert into waybill.audit_log (tenant_id, actor, action, subject)
    values (null, p_by, 'recovery.end', 'deployment');
  return true;
end
$$;

-- Leads a locked action to reconciling, from wherever it is; one that needs an operator stays there.
create function waybill.doubt_state(a waybill.actions) returns waybill.actions language sql
  return waybill.walk_action(a, case a.state
    when 'awaiting_approval' then array['requested', 'reserved', 'unknown', 'reconciling']
    when 'requested' then array['reserved', 'unknown', 'reconciling']
    when 'reserved' then array['unknown', 'reconciling']
    when 'dispatching' then array['unknown', 'reconciling']
    when 'cancelling' then array['unknown', 'reconciling']
    when 'unknown' then array['reconciling']
    else '{}'::text[] end);

-- Ends the open attempt of a locked action, whoever holds it.
create function waybill.give_back(a waybill.actions) returns waybill.actions language plpgsql as $$
declare
  t waybill.route_attempts;
begin
  perform from waybill.routes where tenant_id = a.tenant_id and action_id = a.action_id for update;
  select * into t from waybill.route_attempts
    where tenant_id = a.tenant_id and action_id = a.action_id and settled_at is null;
  if found then
    perform waybill.end_attempt(t, 'outcome_unknown', 'ours', '{"reason": "recovery"}');
    select * into a from waybill.actions where tenant_id = a.tenant_id and action_id = a.action_id;
  end if;
  return a;
end
$$;

-- An open action of the restored rows: it may have been sent since. p_sent_fence: the highest fence with
-- which Temporal knows it to have been handed over for sending; 0: it never was; null: that is not known.
-- Answers
--   doubted    its host is asked before anything else is done;
--   untouched  it has no route now, and it is proven that it was sent on none since;
--   handed     it has no route now, and may have been sent on one that nobody knows: for a person;
--   over       it is closed.
create function waybill.doubt_action(p_tenant text, p_action text, p_sent_fence bigint)
  returns text language plpgsql as $$
declare
  a waybill.actions;
  r waybill.routes;
begin
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found or a.closed_at is not null then return 'over'; end if;
  select * into r from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  if r.action_id is null or r.retired_at is not null then
    if p_sent_fence <= coalesce(r.fence, 0) or a.state = 'needs_operator' then return 'untouched'; end if;
    a := waybill.doubt_state(a);
    update waybill.actions set uncertain = true
      where tenant_id = p_tenant and action_id = p_action returning * into a;
    perform waybill.hand_to_operator(a, 'route_lost',
      'after a restore its route is not known: it may have been sent');
    return 'handed';
  end if;
  a := waybill.doubt_state(waybill.give_back(a));
  update waybill.actions set uncertain = true, repeatable = false, begin_anew = false,
      -- A host with another memory than the one it had then knows nothing of it.
      store_epoch = coalesce(store_epoch, (select x.store_epoch from waybill.replicas x
        where x.replica_id = r.replica_id)),
      last_sent_at = coalesce(last_sent_at, created_at),
      attend_at = clock_timestamp() + interval '5 seconds'
    where tenant_id = p_tenant and action_id = p_action;
  return 'doubted';
end
$$;

-- Of workflows that Temporal knows, [{tenantId, actionId, startedAt}], those without a row of their own:
-- there is none, or it was born after its workflow. A minute is for the clocks of two servers.
create function waybill.lost_actions(p_runs jsonb)
  returns table (tenant_id text, action_id text) language sql stable
begin atomic
  select distinct w."tenantId", w."actionId"
    from jsonb_to_recordset(p_runs) as w("tenantId" text, "actionId" text, "startedAt" timestamptz)
    where not exists (select from waybill.action_tombstones b
        where b.tenant_id = w."tenantId" and b.action_id = w."actionId")
      and not exists (select from waybill.actions a
        where a.tenant_id = w."tenantId" and a.action_id = w."actionId"
          and a.created_at <= w."startedAt" + interval '1 minute');
end;

-- Writes down an action whose row was lost, from what its workflow tells, so that its id is never new:
-- p_told {capabilityId, requestDigest, affinityKey, startedAt, outcome, closedAt, sentFence}. With an outcome
-- it becomes a tombstone, else it is for a person. Answers buried | handed | known (nothing to do).
create function waybill.adopt_action(p_tenant text, p_action text, p_told jsonb) returns text
  language plpgsql as $$
declare
  a waybill.actions;
  v_started timestamptz := (p_told->>'startedAt')::timestamptz;
  v_delivery uuid := (select d.delivery_id from waybill.deliveries d where d.tenant_id = p_tenant
    and d.delivery_id::text = substring(p_action from '^([0-9a-f-]{36})\.[0-9]+$'));
begin
  perform pg_advisory_xact_lock(waybill.start_lock(p_tenant, p_action));
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if a.closed_at is not null or a.created_at <= v_started + interval '1 minute'
     or exists (select from waybill.action_tombstones
       where tenant_id = p_tenant and action_id = p_action) then
    return 'known';
  end if;
  -- Somebody has started its id meanwhile: that is the same action once more.
  if a.action_id is not null then
    a := waybill.give_back(a);
  elsif p_told->>'outcome' is not null then
    insert into waybill.action_tombstones (tenant_id, action_id, capability_id, request_sha256, outcome,
        error_code, delivery_id, requested_by, retry_budget, created_at, deadline_at, closed_at)
      values (p_tenant, p_action, p_told->>'capabilityId', decode(p_told->>'requestDigest', 'hex'),
        p_told->>'outcome', 'result_lost', v_delivery, 'recovery', 0, v_started,
        (p_told->>'closedAt')::timestamptz, (p_told->>'closedAt')::timestamptz);
    return 'buried';
  else
    insert into waybill.actions (tenant_id, action_id, capability_id, request_sha256, state,
        affinity_key, requested_by, retry_budget, deadline_at, attend_at, delivery_id, created_at)
      values (p_tenant, p_action, p_told->>'capabilityId', decode(p_told->>'requestDigest', 'hex'),
        'requested', p_told->>'affinityKey', 'recovery', 0, clock_timestamp(), clock_timestamp(),
        v_delivery, v_started)
      returning * into a;
  end if;
  a := waybill.doubt_state(a);
  update waybill.actions set uncertain = true
    where tenant_id = p_tenant and action_id = p_action returning * into a;
  if a.state <> 'needs_operator' then
    perform waybill.hand_to_operator(a, 'row_lost', case when (p_told->>'sentFence')::bigint > 0
      then 'a restore has lost its row: it was sent, and its workflow tells the rest'
      else 'a restore has lost its row: nothing was sent' end);
  end if;
  return 'handed';
end
$$;

-- Where the recovery stands.
create function waybill.recovery_status() returns jsonb language sql stable
begin atomic
  select jsonb_build_object('since', s.recovering_since,
      'states', coalesce((select jsonb_object_agg(g.state, g.count) from (
        select a.state, count(*) from waybill.actions a where a.attend_at is not null
          group by a.state) g), '{}'),
      'forPeople', coalesce((select jsonb_agg(to_jsonb(p)) from (
        select a.tenant_id as "tenantId", a.action_id as "actionId", a.reason, a.detail
          from waybill.actions a where a.state = 'needs_operator'
            and a.reason in ('route_lost', 'row_lost')
          order by a.tenant_id, a.created_at desc limit 200) p), '[]'))
    from waybill.settings s;
end;

alter table waybill.action_tombstones enable row level security;
create policy one_tenant on waybill.action_tombstones to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.action_tombstones to waybill_operations using (true);
grant select on waybill.action_tombstones to waybill_data, waybill_observer;
grant select, insert, update, delete on waybill.action_tombstones to waybill_operations;
grant update (of_delivery, release_at) on waybill.artifacts to waybill_data;
grant select, update, delete on waybill.artifacts to waybill_operations;
grant insert, delete on waybill.actions to waybill_operations;
grant delete on waybill.routes, waybill.route_attempts to waybill_operations;
grant insert on waybill.quota_counters, waybill.audit_log to waybill_operations;
grant update (recovering_since) on waybill.settings to waybill_operations;
grant update (incarnation, lease_ends_at) on waybill.replicas to waybill_operations;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.keep_action_artifact(text, bytea, bytea),
  waybill.buried_action(waybill.action_tombstones),
  waybill.find_action(text, text),
  waybill.start_lock(text, text)
  to waybill_data;
grant execute on function
  waybill.start_lock(text, text),
  waybill.retain_actions(integer),
  waybill.release_artifacts(integer),
  waybill.counter_differences(integer),
  waybill.mend_counters(text, integer),
  waybill.begin_recovery(text),
  waybill.end_recovery(text),
  waybill.doubt_state(waybill.actions),
  waybill.give_back(waybill.actions),
  waybill.doubt_action(text, text, bigint),
  waybill.lost_actions(jsonb),
  waybill.adopt_action(text, text, jsonb),
  waybill.recovery_status(),
  waybill.walk_action(waybill.actions, text[]),
  waybill.hand_to_operator(waybill.actions, text, text)
  to waybill_operations;
