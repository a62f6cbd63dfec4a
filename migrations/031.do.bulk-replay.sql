-- Bulk replay: after an incident an operator replays what has failed meanwhile, as one job that is
-- planned first, runs at a bounded rate, can be paused, and ends with a statement of what came of it.
--
-- Locks are taken in one order: the job, then the item, then the delivery.

create table waybill.replay_jobs (
  tenant_id text not null,
  job_id uuid not null,
  state text not null check
    (state in ('planning', 'planned', 'running', 'paused', 'cancelled', 'finished')),
  -- What is planned: {connector, subscription, eventType, reason, receivedFrom, receivedTo}, each optional.
  filter jsonb not null,
  requested_by text not null,
  reason text not null,
  -- To one target, over all of the tenant's jobs.
  rate_per_second integer not null check (rate_per_second between 1 and 100),
  created_at timestamptz not null default clock_timestamp(),
  -- The last delivery that planning has looked at; null: none yet.
  planned_to_at timestamptz,
  planned_to_id uuid,
  planned integer not null default 0,
  -- More match than one job may hold.
  truncated boolean not null default false,
  oldest_at timestamptz,
  newest_at timestamptz,
  -- Who let it run: the one who is named in each delivery's history.
  run_by text,
  started_at timestamptz,
  replayed integer not null default 0,
  acknowledged integer not null default 0,
  failed_again integer not null default 0,
  -- How many were skipped, by why.
  skipped jsonb not null default '{}'::jsonb,
  -- Failed again since one was acknowledged, or since somebody let it go on.
  failures_in_a_row integer not null default 0,
  -- Who paused or cancelled it, and why.
  moved_by text,
  moved_why text,
  -- Until then it waits for what it has replayed; null: it has replayed nothing yet.
  watch_until timestamptz,
  -- By then a loop makes sure that a workflow attends to it; null when it waits for a person, or is over.
  attend_at timestamptz,
  finished_at timestamptz,
  -- The signed statement of what came of it.
  receipt text,
  -- What it had planned was removed for its age.
  items_removed_at timestamptz,
  primary key (tenant_id, job_id),
  check ((finished_at is not null) = (state in ('cancelled', 'finished'))),
  check (receipt is null or finished_at is not null),
  check (items_removed_at is null or receipt is not null),
  check (acknowledged + failed_again <= replayed and replayed <= planned)
) with (fillfactor = 70);

create index replay_jobs_by_time on waybill.replay_jobs (tenant_id, created_at desc, job_id desc);
create index replay_jobs_to_attend on waybill.replay_jobs (attend_at) where attend_at is not null;
create index replay_jobs_over on waybill.replay_jobs (tenant_id, (items_removed_at is null), finished_at)
  where receipt is not null;

create table waybill.replay_items (
  tenant_id text not null,
  job_id uuid not null,
  -- Oldest first.
  position integer not null,
  delivery_id uuid not null,
  subscription_id text not null,
  -- The delivery's version when the plan was made.
  planned_version integer not null,
  outcome text check (outcome in ('replayed', 'skipped')),
  skipped_why text check (skipped_why in ('acknowledged', 'under_way', 'failed_anew', 'removed')),
  -- The series that its replay opened, and how that ended; null: it is under way.
  series integer,
  result text check (result in ('acknowledged', 'failed_again')),
  primary key (tenant_id, job_id, position),
  foreign key (tenant_id, job_id) references waybill.replay_jobs,
  check ((outcome is not distinct from 'skipped') = (skipped_why is not null)),
  check ((outcome is not distinct from 'replayed') = (series is not null)),
  check (result is null or series is not null)
) with (fillfactor = 70);

create index replay_items_pending on waybill.replay_items
  (tenant_id, job_id, subscription_id, position) where outcome is null;
create index replay_items_under_way on waybill.replay_items (tenant_id, job_id, subscription_id)
  where outcome = 'replayed' and result is null;

-- The subscriptions of a job, with how many of its deliveries each has.
create table waybill.replay_scopes (
  tenant_id text not null,
  job_id uuid not null,
  subscription_id text not null,
  planned integer not null,
  primary key (tenant_id, job_id, subscription_id),
  foreign key (tenant_id, job_id) references waybill.replay_jobs
);

-- When the next replay may go to a target, whichever job it is of.
create table waybill.replay_paces (
  tenant_id text not null,
  target_id text not null,
  next_at timestamptz not null,
  primary key (tenant_id, target_id)
);

create function waybill.replay_skipped(p_skipped jsonb) returns integer
  language sql immutable
  return (select coalesce(sum(value::integer), 0)::integer from jsonb_each_text(p_skipped));

-- What a job has come to: what its workflow decides by, and what its receipt is signed over.
create function waybill.replay_progress(j waybill.replay_jobs) returns jsonb
  language sql volatile
  return jsonb_build_object(
    'state', j.state, 'planned', j.planned, 'truncated', j.truncated, 'replayed', j.replayed,
    'acknowledged', j.acknowledged, 'failedAgain', j.failed_again,
    'open', j.replayed - j.acknowledged - j.failed_again,
    'skipped', j.skipped,
    'left', j.planned - j.replayed - waybill.replay_skipped(j.skipped),
    'movedBy', j.moved_by, 'movedWhy', j.moved_why, 'requestedBy', j.requested_by,
    'runBy', j.run_by, 'reason', j.reason, 'filter', j.filter, 'createdAt', j.created_at,
    'watchOver', j.watch_until is null or j.watch_until < clock_timestamp(),
    'concluded', j.receipt is not null, 'now', clock_timestamp());

-- Makes a job that is to be planned. Answers planning, also where the job is there already; or too_many
-- (jobs of the tenant are not over).
create function waybill.create_replay(
  p_tenant text, p_job uuid, p_wish jsonb, p_limit integer
) returns jsonb language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  perform pg_advisory_xact_lock(hashtextextended('waybill.replays/' || p_tenant, 0));
  if exists (select from waybill.replay_jobs where tenant_id = p_tenant and job_id = p_job) then
    return jsonb_build_object('answer', 'planning');
  end if;
  if (select count(*) from (select from waybill.replay_jobs
        where tenant_id = p_tenant and finished_at is null limit p_limit) o) >= p_limit then
    return jsonb_build_object('answer', 'too_many');
  end if;
  insert into waybill.replay_jobs
      (tenant_id, job_id, state, filter, requested_by, reason, rate_per_second, attend_at)
    values (p_tenant, p_job, 'planning', p_wish->'filter', p_wish->>'by', p_wish->>'reason',
            (p_wish->>'ratePerSecond')::integer, clock_timestamp() + interval '2 seconds');
  insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
    values (p_tenant, p_wish->>'by', 'bulk-replay.plan', 'replay/' || p_job, p_wish - 'by');
  return jsonb_build_object('answer', 'planning');
end
$$;

-- Looks at the next p_batch failed deliveries, oldest first, and plans those that match and had
-- failed before the job was made; at most p_max in all. Answers planning | planned | moved (it is in
-- another state) | unknown_job.
create function waybill.plan_replay(p_tenant text, p_job uuid, p_batch integer, p_max integer)
returns jsonb language plpgsql as $$
declare
  j waybill.replay_jobs;
  v_seen integer;
  v_to_at timestamptz;
  v_to_id uuid;
  v_matched integer;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into j from waybill.replay_jobs
    where tenant_id = p_tenant and job_id = p_job for update;
  if not found then return jsonb_build_object('answer', 'unknown_job'); end if;
  if j.state <> 'planning' then
    return jsonb_build_object('answer', 'moved', 'progress', waybill.replay_progress(j));
  end if;
  with seen as materialized (
    select d.delivery_id, d.received_at, d.subscription_id, d.version,
        d.settled_at <= j.created_at and d.direction = 'inbound' and d.subscription_id is not null
          and d.connector_id = coalesce(j.filter->>'connector', d.connector_id)
          and d.subscription_id = coalesce(j.filter->>'subscription', d.subscription_id)
          and d.event_type = coalesce(j.filter->>'eventType', d.event_type)
          and coalesce(d.reason, '') = coalesce(j.filter->>'reason', d.reason, '') as matches
      from waybill.deliveries d
      where d.tenant_id = p_tenant and d.state = 'Failed'
        -- The instant alone first: what an index can be entered with under row-level security.
        and d.received_at >= coalesce(j.planned_to_at, (j.filter->>'receivedFrom')::timestamptz,
                                      '-infinity')
        and d.received_at < coalesce((j.filter->>'receivedTo')::timestamptz, 'infinity')
        and (j.planned_to_at is null
          or (d.received_at, d.delivery_id) > (j.planned_to_at, j.planned_to_id))
      order by d.received_at, d.delivery_id limit p_batch
  ), numbered as (
    select s.*, j.planned + row_number() over (order by s.received_at, s.delivery_id) as position
      from seen s where s.matches
  ), stored as (
    insert into waybill.replay_items
        (tenant_id, job_id, position, delivery_id, subscription_id, planned_version)
      select p_tenant, p_job, n.position, n.delivery_id, n.subscription_id, n.version
        from numbered n where n.position <= p_max
      returning subscription_id
  ), scoped as (
    insert into waybill.replay_scopes as c (tenant_id, job_id, subscription_id, planned)
      select p_tenant, p_job, s.subscription_id, count(*) from stored s group by 3
      on conflict (tenant_id, job_id, subscription_id)
        do update set planned = c.planned + excluded.planned
  ), newest as (
    select received_at, delivery_id from seen order by 1 desc, 2 desc limit 1
  )
  select (select count(*) from seen), (select received_at from newest),
      (select delivery_id from newest), (select count(*) from numbered),
      least(j.oldest_at, (select min(received_at) from numbered)),
      greatest(j.newest_at, (select max(received_at) from numbered where position <= p_max))
    into v_seen, v_to_at, v_to_id, v_matched, j.oldest_at, j.newest_at;
  j.truncated := j.planned + v_matched > p_max;
  update waybill.replay_jobs set
      planned = least(p_max, planned + v_matched), truncated = j.truncated,
      oldest_at = j.oldest_at, newest_at = j.newest_at,
      planned_to_at = coalesce(v_to_at, planned_to_at), planned_to_id = coalesce(v_to_id, planned_to_id),
      state = case when v_seen < p_batch or j.truncated then 'planned' else state end,
      attend_at = case when v_seen < p_batch or j.truncated then null
        else clock_timestamp() + interval '1 minute' end
    where tenant_id = p_tenant and job_id = p_job returning * into j;
  return jsonb_build_object('answer', j.state, 'progress', waybill.replay_progress(j));
end
$$;

-- What people do with a job: run | pause | resume | cancel. Answers
--   moved    just now;
--   already  it was so before: two clicks are one move;
--   refused  with the state it is in; | unknown_job
create function waybill.move_replay(
  p_tenant text, p_job uuid, p_move text, p_by text, p_reason text
) returns jsonb language plpgsql as $$
declare
  j waybill.replay_jobs;
  v_to text := case p_move when 'pause' then 'paused' when 'cancel' then 'cancelled' else 'running' end;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into j from waybill.replay_jobs
    where tenant_id = p_tenant and job_id = p_job for update;
  if not found then return jsonb_build_object('answer', 'unknown_job'); end if;
  if j.state = v_to then return jsonb_build_object('answer', 'already', 'state', j.state); end if;
  if not (case p_move
      when 'run' then j.state = 'planned'
      when 'pause' then j.state = 'running'
      when 'resume' then j.state = 'paused'
      else j.finished_at is null end) then
    return jsonb_build_object('answer', 'refused', 'state', j.state);
  end if;
  update waybill.replay_jobs set
      state = v_to, failures_in_a_row = 0,
      run_by = case when v_to = 'running' then p_by else run_by end,
      started_at = case when v_to = 'running' then coalesce(started_at, clock_timestamp())
        else started_at end,
      moved_by = case when v_to <> 'running' then p_by end,
      moved_why = case when v_to <> 'running' then p_reason end,
      attend_at = case when v_to <> 'paused' then clock_timestamp() + interval '2 seconds' end,
      finished_at = case when v_to = 'cancelled' then clock_timestamp() end
    where tenant_id = p_tenant and job_id = p_job;
  insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
    values (p_tenant, p_by, 'bulk-replay.' || p_move, 'replay/' || p_job,
            jsonb_strip_nulls(jsonb_build_object('reason', p_reason)));
  return jsonb_build_object('answer', 'moved', 'state', v_to);
end
$$;

-- Counts what replayed deliveries have come to meanwhile, at most p_batch, and pauses the job when
-- p_stop_after failed again in a row. Answers progress | unknown_job.
create function waybill.settle_replay(p_tenant text, p_job uuid, p_batch integer, p_stop_after integer)
returns jsonb language plpgsql as $$
declare
  j waybill.replay_jobs;
  v_acknowledged integer;
  v_failed integer;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into j from waybill.replay_jobs
    where tenant_id = p_tenant and job_id = p_job for update;
  if not found then return jsonb_build_object('answer', 'unknown_job'); end if;
  if j.receipt is not null then
    return jsonb_build_object('answer', 'progress', 'progress', waybill.replay_progress(j));
  end if;
  with over as materialized (
    -- A later series is of somebody else's replay: the one of this job had failed before.
    select i.position, case when d.series = i.series and d.state = 'Acknowledged'
        then 'acknowledged' else 'failed_again' end as result
      from waybill.replay_items i
      join waybill.deliveries d on d.tenant_id = i.tenant_id and d.delivery_id = i.delivery_id
      where i.tenant_id = p_tenant and i.job_id = p_job and i.outcome = 'replayed'
        and i.result is null and (d.series > i.series or d.state in ('Acknowledged', 'Failed'))
      limit p_batch
  ), settled as (
    update waybill.replay_items i set result = o.result from over o
      where i.tenant_id = p_tenant and i.job_id = p_job and i.position = o.position
      returning i.result
  )
  select count(*) filter (where result = 'acknowledged'),
      count(*) filter (where result = 'failed_again') into v_acknowledged, v_failed from settled;
  update waybill.replay_jobs set
      acknowledged = acknowledged + v_acknowledged, failed_again = failed_again + v_failed,
      failures_in_a_row = case when v_acknowledged > 0 then 0 else failures_in_a_row + v_failed end,
      attend_at = case when attend_at is not null then clock_timestamp() + interval '1 minute' end
    where tenant_id = p_tenant and job_id = p_job returning * into j;
  if j.state = 'running' and j.failures_in_a_row >= p_stop_after
      and j.planned > j.replayed + waybill.replay_skipped(j.skipped) then
    perform waybill.move_replay(p_tenant, p_job, 'pause', 'waybill',
      format('the last %s replayed deliveries failed again', j.failures_in_a_row));
    select * into j from waybill.replay_jobs where tenant_id = p_tenant and job_id = p_job;
  end if;
  return jsonb_build_object('answer', 'progress', 'progress', waybill.replay_progress(j));
end
$$;

-- What may be replayed now, oldest first for each target, and takes its place in that target's pace.
-- A target takes no more while p_busy of the job's deliveries (and half of what the target takes at
-- once) are being attempted there, or
-- p_unsettled wait for their end; a paused subscription or target takes none, and one whose breaker is not
-- closed none but its probe. Answers due {items, waitMs (null: nothing is left for which a time is known), full:
-- [target], held: [subscription/id or target/id]} | moved | unknown_job.
create function waybill.due_replays(p_tenant text, p_job uuid, p_busy integer, p_unsettled integer)
returns jsonb language plpgsql as $$
declare
  j waybill.replay_jobs;
  t record;
  v_busy integer;
  v_unsettled integer;
  v_queued integer;
  -- A quarter of a second's worth.
  v_chunk integer;
  v_next timestamptz;
  v_from timestamptz;
  v_many integer;
  v_found jsonb;
  v_items jsonb := '[]'::jsonb;
  v_wait bigint;
  v_full jsonb := '[]'::jsonb;
  v_held jsonb := '[]'::jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into j from waybill.replay_jobs
    where tenant_id = p_tenant and job_id = p_job for update;
  if not found then return jsonb_build_object('answer', 'unknown_job'); end if;
  if j.state <> 'running' then
    return jsonb_build_object('answer', 'moved', 'progress', waybill.replay_progress(j));
  end if;
  for t in
    select s.target_id, array_agg(s.subscription_id) as all_of_it,
        array_agg(s.subscription_id) filter (where s.state <> 'paused') as free,
        jsonb_agg('subscription/' || s.subscription_id) filter (where s.state = 'paused') as held,
        -- A breaker closes by a probe alone: where nothing waits at the gate to be it, one of these is.
        bool_or(g.paused_at is not null or g.breaker <> 'closed' and (not waybill.admits_probe(g)
          or exists (select from waybill.deliveries w
            where w.tenant_id = g.tenant_id and w.gate = 'target/' || g.target_id))) as shut,
        bool_or(g.breaker <> 'closed') as probed,
        -- Half of what the target takes at once stays free for what comes in meanwhile.
        least(p_busy, greatest(1, max(a.max_in_flight) / 2)) as busy
      from waybill.replay_scopes c
      join waybill.subscriptions s
        on s.tenant_id = c.tenant_id and s.subscription_id = c.subscription_id
      join waybill.targets a on a.tenant_id = s.tenant_id and a.target_id = s.target_id
      left join waybill.target_states g on g.tenant_id = s.tenant_id and g.target_id = s.target_id
      where c.tenant_id = p_tenant and c.job_id = p_job
        and exists (select from waybill.replay_items i where i.tenant_id = p_tenant
          and i.job_id = p_job and i.subscription_id = c.subscription_id and i.outcome is null)
      group by s.target_id order by s.target_id
  loop
    v_held := v_held || coalesce(t.held, '[]'::jsonb);
    if t.free is null then continue; end if;
    if t.shut then
      v_held := v_held || to_jsonb('target/' || t.target_id);
      continue;
    end if;
    -- One that waits for its next attempt, or at a gate, takes nothing from the target now.
    select count(*) filter (where d.next_attempt_at is null and d.gate is null), count(*),
        count(*) filter (where d.state = 'Replayed' and d.gate is null)
      into v_busy, v_unsettled, v_queued
      from waybill.replay_items i
      join waybill.deliveries d on d.tenant_id = i.tenant_id and d.delivery_id = i.delivery_id
      where i.tenant_id = p_tenant and i.job_id = p_job and i.subscription_id = any (t.all_of_it)
        and i.outcome = 'replayed' and i.result is null and d.attend_at is not null;
    -- Workers that have not taken on what they were given are behind: live deliveries go first.
    v_chunk := greatest(2, ceil(j.rate_per_second / 4.0));
    if v_busy >= t.busy or v_unsettled >= p_unsettled or v_queued >= v_chunk then
      v_full := v_full || to_jsonb(t.target_id);
      continue;
    end if;
    insert into waybill.replay_paces values (p_tenant, t.target_id, clock_timestamp())
      on conflict do nothing;
    select next_at into v_next from waybill.replay_paces
      where tenant_id = p_tenant and target_id = t.target_id for update;
    if v_next <= clock_timestamp() then
      -- A tenth of a second's worth at a time, so that nothing live stands behind a heap of them; and what
      -- a round came too late for, up to a second's worth.
      v_from := greatest(v_next, clock_timestamp() - interval '1 second');
      v_many := least(t.busy - v_busy, p_unsettled - v_unsettled, v_chunk - v_queued, ceil(j.rate_per_second / 10.0)
        + floor(extract(epoch from clock_timestamp() - v_from) * j.rate_per_second))::integer;
      if t.probed then v_many := 1; end if;
      select jsonb_agg(to_jsonb(n)) into v_found from (
        select f.position, f.delivery_id as "deliveryId" from unnest(t.free) free (subscription_id)
          cross join lateral (
            select i.position, i.delivery_id from waybill.replay_items i
              where i.tenant_id = p_tenant and i.job_id = p_job
                and i.subscription_id = free.subscription_id and i.outcome is null
              order by i.position limit v_many) f
          order by f.position limit v_many) n;
      v_items := v_items || coalesce(v_found, '[]'::jsonb);
      v_next := v_from + make_interval(
        secs => coalesce(jsonb_array_length(v_found), 0)::numeric / j.rate_per_second);
      -- No other before this one had time to become the probe.
      if t.probed then v_next := clock_timestamp() + interval '2 seconds'; end if;
      update waybill.replay_paces set next_at = v_next
        where tenant_id = p_tenant and target_id = t.target_id;
    end if;
    v_wait := least(v_wait, waybill.ms_until(v_next));
  end loop;
  return jsonb_build_object('answer', 'due', 'items', v_items, 'waitMs', v_wait,
    'full', v_full, 'held', v_held);
end
$$;

-- Replays one planned delivery, if it is still failed at the version that was planned. Answers
--   replayed     with what people see of the delivery, for its workflow;
--   skipped      with why; | done (before) | not_running | chain_moved | unknown_job
create function waybill.replay_planned(
  p_tenant text, p_job uuid, p_position integer, p_by text, p_receipt jsonb, p_watch_ms bigint
) returns jsonb language plpgsql as $$
declare
  j waybill.replay_jobs;
  i waybill.replay_items;
  d waybill.deliveries;
  v_answer jsonb;
  v_why text;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into j from waybill.replay_jobs
    where tenant_id = p_tenant and job_id = p_job for update;
  select * into i from waybill.replay_items
    where tenant_id = p_tenant and job_id = p_job and position = p_position for update;
  if not found then return jsonb_build_object('answer', 'unknown_job'); end if;
  if i.outcome is not null then return jsonb_build_object('answer', 'done'); end if;
  if j.state <> 'running' then return jsonb_build_object('answer', 'not_running'); end if;
  select * into d from waybill.deliveries
    where tenant_id = p_tenant and delivery_id = i.delivery_id for update;
  v_why := case
    when d.delivery_id is null then 'removed'
    when d.state = 'Acknowledged' then 'acknowledged'
    when d.state <> 'Failed' then 'under_way'
    when d.version <> i.planned_version then 'failed_anew' end;
  if v_why is not null then
    update waybill.replay_items set outcome = 'skipped', skipped_why = v_why
      where tenant_id = p_tenant and job_id = p_job and position = p_position;
    update waybill.replay_jobs set skipped = skipped || jsonb_build_object(
        v_why, coalesce((skipped->>v_why)::integer, 0) + 1)
      where tenant_id = p_tenant and job_id = p_job;
    return jsonb_build_object('answer', 'skipped', 'why', v_why);
  end if;
  v_answer := waybill.replay_delivery(p_tenant, i.delivery_id, p_by, j.reason, p_receipt);
  if v_answer->>'answer' <> 'replayed' then return v_answer; end if;
  update waybill.replay_items set outcome = 'replayed', series = (v_answer->>'series')::integer
    where tenant_id = p_tenant and job_id = p_job and position = p_position;
  update waybill.replay_jobs set replayed = replayed + 1,
      watch_until = clock_timestamp() + make_interval(secs => p_watch_ms / 1000.0)
    where tenant_id = p_tenant and job_id = p_job;
  return v_answer;
end
$$;

-- Ends a job that was cancelled, or has nothing left to do or to wait for, with its signed statement.
-- Answers concluded (also: before) | progress (it has moved since, or is not over) | unknown_job.
create function waybill.conclude_replay(
  p_tenant text, p_job uuid, p_stated jsonb, p_receipt text
) returns jsonb language plpgsql as $$
declare
  j waybill.replay_jobs;
  v_now jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into j from waybill.replay_jobs
    where tenant_id = p_tenant and job_id = p_job for update;
  if not found then return jsonb_build_object('answer', 'unknown_job'); end if;
  if j.receipt is not null then return jsonb_build_object('answer', 'concluded'); end if;
  v_now := waybill.replay_progress(j);
  if not (j.state = 'cancelled' or j.state = 'running' and (v_now->>'left')::integer = 0
        and ((v_now->>'open')::integer = 0 or (v_now->>'watchOver')::boolean))
      or not v_now @> p_stated then
    return jsonb_build_object('answer', 'progress', 'progress', v_now);
  end if;
  update waybill.replay_jobs set
      state = case when state = 'running' then 'finished' else state end,
      finished_at = coalesce(finished_at, clock_timestamp()), attend_at = null, receipt = p_receipt
    where tenant_id = p_tenant and job_id = p_job;
  return jsonb_build_object('answer', 'concluded');
end
$$;

-- Claims jobs that no workflow has attended to in time. Across tenants: for waybill_operations.
create function waybill.claim_unattended_replays(p_limit integer, p_push_ms integer)
returns table (tenant_id text, job_id uuid) language sql
begin atomic
  with due as materialized (
    select j.tenant_id, j.job_id from waybill.replay_jobs j
      where j.attend_at <= clock_timestamp()
      order by j.attend_at limit p_limit for update skip locked
  )
  update waybill.replay_jobs j
    set attend_at = clock_timestamp() + make_interval(secs => p_push_ms / 1000.0)
    from due where j.tenant_id = due.tenant_id and j.job_id = due.job_id
    returning j.tenant_id, j.job_id;
end;

-- One batch of what is left of a tenant's jobs that are over: at most p_limit of what one of them had planned, as
-- long after its end as failed deliveries are kept; and at most p_limit jobs with their statements, as long as
-- receipts are. What somebody has locked is left for the next batch. Answers {items, jobs, more}.
create function waybill.retain_replays(p_tenant text, p_limit integer) returns jsonb language plpgsql as $$
declare
  v_items_until timestamptz := clock_timestamp()
    - make_interval(days => waybill.retention_days(p_tenant, 'failedDays'));
  v_jobs_until timestamptz := clock_timestamp()
    - make_interval(days => waybill.retention_days(p_tenant, 'receiptDays'));
  v_job uuid;
  v_items integer := 0;
  v_jobs uuid[];
begin
  select j.job_id into v_job from waybill.replay_jobs j
    where j.tenant_id = p_tenant and j.receipt is not null and (j.items_removed_at is null)
      and j.finished_at < v_items_until
    order by j.finished_at limit 1 for update skip locked;
  if found then
    delete from waybill.replay_items i
      where i.tenant_id = p_tenant and i.job_id = v_job and i.position in (
        select o.position from waybill.replay_items o
          where o.tenant_id = p_tenant and o.job_id = v_job order by o.position limit p_limit);
    get diagnostics v_items = row_count;
    if v_items < p_limit then
      delete from waybill.replay_scopes c where c.tenant_id = p_tenant and c.job_id = v_job;
      update waybill.replay_jobs j set items_removed_at = clock_timestamp()
        where j.tenant_id = p_tenant and j.job_id = v_job;
    end if;
  end if;
  select coalesce(array_agg(o.job_id), '{}') into v_jobs from (
    select j.job_id from waybill.replay_jobs j
      where j.tenant_id = p_tenant and j.receipt is not null and not (j.items_removed_at is null)
        and j.finished_at < v_jobs_until
      order by j.finished_at limit p_limit for update skip locked) o;
  delete from waybill.replay_jobs j where j.tenant_id = p_tenant and j.job_id = any (v_jobs);
  -- more: also where the job whose turn it was had nothing left.
  return jsonb_build_object('items', v_items, 'jobs', cardinality(v_jobs), 'more', v_job is not null
    or cardinality(v_jobs) = p_limit);
end
$$;

-- Tenants after p_after that have jobs, in order.
create function waybill.replay_tenants(p_after text, p_limit integer) returns setof text
  language plpgsql stable as $$
declare
  v_tenant text := p_after;
begin
  for i in 1..p_limit loop
    select j.tenant_id into v_tenant from waybill.replay_jobs j where j.tenant_id > v_tenant
      order by j.tenant_id limit 1;
    exit when not found;
    return next v_tenant;
  end loop;
end
$$;

do $$
declare
  v_table text;
begin
  foreach v_table in array
      array['replay_jobs', 'replay_items', 'replay_scopes', 'replay_paces'] loop
    execute format('alter table waybill.%I enable row level security', v_table);
    execute format('create policy one_tenant on waybill.%I to waybill_data, waybill_observer
      using (tenant_id = waybill.current_tenant())', v_table);
    execute format('create policy across_tenants on waybill.%I to waybill_operations
      using (true)', v_table);
  end loop;
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant select, insert, update on waybill.replay_jobs, waybill.replay_items, waybill.replay_scopes,
  waybill.replay_paces to waybill_data;
grant execute on function
  waybill.replay_progress(waybill.replay_jobs),
  waybill.replay_skipped(jsonb),
  waybill.create_replay(text, uuid, jsonb, integer),
  waybill.plan_replay(text, uuid, integer, integer),
  waybill.move_replay(text, uuid, text, text, text),
  waybill.settle_replay(text, uuid, integer, integer),
  waybill.due_replays(text, uuid, integer, integer),
  waybill.replay_planned(text, uuid, integer, text, jsonb, bigint),
  waybill.conclude_replay(text, uuid, jsonb, text)
  to waybill_data;
grant select on waybill.replay_jobs, waybill.replay_items, waybill.replay_scopes,
  waybill.replay_paces to waybill_observer;
grant select, delete, update (attend_at, items_removed_at) on waybill.replay_jobs to waybill_operations;
grant select, delete on waybill.replay_items, waybill.replay_scopes to waybill_operations;
grant execute on function
  waybill.claim_unattended_replays(integer, integer),
  waybill.retain_replays(text, integer),
  waybill.replay_tenants(text, integer)
  to waybill_operations;
