-- What a reservation takes and gives back: quota counters, the rate limit, a replica. Callers hold the
-- locks of the action and its route; counters come last, from the narrowest scope to the widest.

-- Takes one of p_limit; null: taken, else in how many milliseconds one may be free.
create function waybill.take_quota(p_scope text, p_key text, p_tenant text, p_limit integer)
returns integer language plpgsql as $$
declare
  v_retry integer;
begin
  insert into waybill.quota_counters as q (scope, scope_key, tenant_id, held)
    values (p_scope, p_key, p_tenant, 1)
    on conflict (scope, scope_key) do update set held = q.held + 1 where q.held < p_limit;
  if found then return null; end if;
  -- The limit may have been lowered below what is held: as many have to come back first.
  select least(30000, greatest(50, coalesce(drain_ms, 500) * (held - p_limit + 1)))::integer into v_retry
    from waybill.quota_counters where scope = p_scope and scope_key = p_key;
  return v_retry;
end
$$;

create function waybill.release_quota(p_scope text, p_key text) returns void language sql
begin atomic
  update waybill.quota_counters q set held = held - 1, released_at = clock_timestamp(),
      drain_ms = case when q.released_at is null then q.drain_ms else 0.8 * coalesce(q.drain_ms, 500)
        + 0.2 * least(30000, extract(epoch from clock_timestamp() - q.released_at) * 1000) end
    where scope = p_scope and scope_key = p_key;
end;

-- Counters without a tenant: by exact scope and key, with the owner's rights.
create function waybill.take_shared_quota(p_scope text, p_key text, p_limit integer) returns integer
  language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  select waybill.take_quota(p_scope, p_key, null, p_limit) where p_scope in ('connector', 'global');
end;

create function waybill.release_shared_quota(p_scope text, p_key text) returns void
  language sql security definer set search_path = pg_catalog, pg_temp
begin atomic
  select waybill.release_quota(p_scope, p_key) where p_scope in ('connector', 'global');
end;

-- A binding with the chain it stands on; `fault` names the first broken link.
create type waybill.bound as (
  instance_id text, connector_id text, version text, manifest_digest text, priority integer,
  spill text, spread boolean, policy_revision bigint, credential_revision text,
  quota_policy_id text, rate_limit jsonb, fault text
);

-- Takes every quota scope that is on, all or nothing: a full one ends the caller's block with WB010
-- and the answer as its detail. Returns the counters taken.
create function waybill.take_quotas(
  p_tenant text, p_capability text, b waybill.bound, p_retry boolean
) returns jsonb language plpgsql as $$
declare
  q waybill.quota_policies;
  v_scope text;
  v_key text;
  v_limit integer;
  v_retry_ms integer;
  v_taken jsonb := '[]';
begin
  select * into q from waybill.quota_policies where quota_policy_id = b.quota_policy_id;
  if not found then return v_taken; end if;
  foreach v_scope in array array['binding', 'instance', 'connector', 'tenant_retry', 'tenant', 'global'] loop
    v_limit := case v_scope when 'binding' then q.binding_limit when 'instance' then q.instance_limit
      when 'connector' then q.connector_limit when 'tenant' then q.tenant_limit
      when 'global' then q.global_limit else case when p_retry then q.tenant_retry_limit end end;
    continue when v_limit is null;
    v_key := case v_scope
      when 'binding' then concat_ws('/', p_tenant, b.instance_id, p_capability)
      when 'instance' then concat_ws('/', p_tenant, b.instance_id)
      when 'connector' then b.connector_id when 'global' then '*' else p_tenant end;
    v_retry_ms := case when v_scope in ('connector', 'global')
      then waybill.take_shared_quota(v_scope, v_key, v_limit)
      else waybill.take_quota(v_scope, v_key, p_tenant, v_limit) end;
    if v_retry_ms is not null then
      raise exception 'quota % is full', v_scope using errcode = 'WB010', detail = jsonb_build_object(
        'kind', 'capacity_exceeded', 'scope', v_scope, 'instanceId', b.instance_id,
        'retryInMs', v_retry_ms)::text;
    end if;
    v_taken := v_taken || jsonb_build_object('scope', v_scope, 'key', v_key);
  end loop;
  return v_taken;
end
$$;

-- When the next reservation is due by a rate of one in p_each_ms: as many as the row is ahead by its own.
create function waybill.rate_due(l waybill.rate_limits, p_each_ms double precision) returns timestamptz
  language sql volatile
  return case when l.each_ms is null or l.each_ms = p_each_ms then l.due_at
    else clock_timestamp() + (l.due_at - clock_timestamp()) * (p_each_ms / l.each_ms) end;

-- GCRA: a reservation is due when the schedule of even arrivals is at most a burst ahead. Nothing is
-- while the provider wants to be left alone.
create function waybill.take_rate(p_tenant text, p_instance text, p_rate jsonb) returns void
  language plpgsql as $$
declare
  v_each_ms double precision := (p_rate->>'perMs')::double precision / (p_rate->>'permits')::double precision;
  v_each interval := make_interval(secs => v_each_ms / 1000);
  v_ahead interval := v_each * ((p_rate->>'burst')::integer - 1);
  v_free_at timestamptz;
begin
  if p_rate is null then
    select held_until into v_free_at from waybill.rate_limits
      where tenant_id = p_tenant and instance_id = p_instance and held_until > clock_timestamp();
    if not found then return; end if;
  else
    insert into waybill.rate_limits as l (tenant_id, instance_id, due_at, each_ms)
      values (p_tenant, p_instance, clock_timestamp() + v_each, v_each_ms)
      on conflict (tenant_id, instance_id) do update
        set due_at = greatest(waybill.rate_due(l, v_each_ms), clock_timestamp()) + v_each,
            each_ms = v_each_ms
        where waybill.rate_due(l, v_each_ms) <= clock_timestamp() + v_ahead
          and coalesce(l.held_until <= clock_timestamp(), true);
    if found then return; end if;
    select greatest(waybill.rate_due(l, v_each_ms) - v_ahead, held_until) into v_free_at
      from waybill.rate_limits l where tenant_id = p_tenant and instance_id = p_instance;
  end if;
  raise exception 'instance % is at its rate', p_instance using errcode = 'WB010',
    detail = jsonb_build_object('kind', 'rate_limited', 'instanceId', p_instance,
      'retryInMs', greatest(1, waybill.ms_until(v_free_at)), 'eachMs', v_each_ms)::text;
end
$$;

-- After a refusal, which writes nothing: from now on what is ahead is worked off at this pace. Who finds
-- the row locked leaves that to whoever is refused next.
create function waybill.keep_pace(p_tenant text, p_instance text, p_each_ms double precision) returns void
  language plpgsql as $$
begin
  perform from waybill.rate_limits where tenant_id = p_tenant and instance_id = p_instance
    and each_ms <> p_each_ms for update skip locked;
  if not found then return; end if;
  update waybill.rate_limits l set due_at = waybill.rate_due(l, p_each_ms), each_ms = p_each_ms
    where l.tenant_id = p_tenant and l.instance_id = p_instance;
end
$$;

create function waybill.circuit_admits(r waybill.replicas, p_probes integer) returns boolean
  language sql volatile
  return r.circuit_open_until is null
    or (r.circuit_open_until <= clock_timestamp() and r.probes < p_probes);

-- Whether a replica could take one more: live, not full, its circuit closed or half open with a probe
-- to spare. Whether its status and place suit is the caller's question.
create function waybill.has_room(r waybill.replicas, p_probes integer) returns boolean
  language sql volatile
  return r.lease_ends_at > clock_timestamp() and r.active_assignments < r.capacity
    and waybill.circuit_admits(r, p_probes);

-- p_topology: {region, zone, crossRegion, capacityClass}. A class, and a region that must not be
-- left, are filters; else region and zone are preferences.
create function waybill.suits(r waybill.replicas, p_topology jsonb) returns boolean
  language sql immutable
  return (p_topology->>'capacityClass' is null or r.capacity_class = p_topology->>'capacityClass')
    and ((p_topology->>'crossRegion')::boolean or p_topology->>'region' is null
      or r.region = p_topology->>'region');

-- The chain of each binding of the capability, best priority first, at most 1000. Evidence counts as
-- missing from the instant at which it expires.
create function waybill.binding_chain(p_tenant text, p_capability text)
returns waybill.bound[] language sql stable
  return array(select row(b.instance_id, i.connector_id, i.version, v.manifest_digest, b.priority,
      b.spill, b.spread, b.policy_revision, b.credential_revision, b.quota_policy_id, v.rate_limit,
      case
        when not b.enabled then 'binding_disabled'
        when i.status <> 'enabled' then 'instance_disabled'
        when c.enabled is not true then 'connector_disabled'
        -- A deprecated version keeps serving the bindings it has.
        when v.status is null or v.status not in ('active', 'deprecated') then 'version_not_active'
        when v.evidence_until <= clock_timestamp() then 'evidence_expired'
        when v.manifest_digest is null or o.capability_id is null then 'capability_not_offered'
        when k.status is distinct from 'active' then 'credential_revoked'
      end)::waybill.bound
    from waybill.bindings b
    join waybill.instances i on i.tenant_id = b.tenant_id and i.instance_id = b.instance_id
    left join waybill.connectors c on c.connector_id = i.connector_id
    left join waybill.connector_versions v on v.connector_id = i.connector_id and v.version = i.version
    left join waybill.version_capabilities o on o.connector_id = i.connector_id
      and o.version = i.version and o.capability_id = b.capability_id
    left join waybill.credential_revisions k on k.tenant_id = b.tenant_id
      and k.instance_id = b.instance_id and k.credential_revision = b.credential_revision
    where b.tenant_id = p_tenant and b.capability_id = p_capability
    order by b.priority, b.instance_id limit 1000);

-- Replicas for a new route on one of these instances, best first. Each tier (instance, region, zone)
-- gives a window of at most 8 that have room, from a start that depends on the action: the order is
-- exact while a tier has no more, sampled above, and full replicas are passed over. Tiers are found
-- by skipping through the index, so that the cost does not grow with their size; at most p_tiers are
-- looked at, from the preferred region and from the first one on alike.
create function waybill.candidate_replicas(
  p_tenant text, p_action text, p_level waybill.bound[], p_topology jsonb, p_tiers integer
) returns text[] language sql volatile
  return (with recursive tiers as (
    (select w.instance_id, w.version, t.region, t.zone from unnest(p_level) w
      cross join (values (p_topology->>'region'), ('')) as f (region)
      cross join lateral (
        select r.region, r.zone from waybill.replicas r
          where r.tenant_id = p_tenant and r.instance_id = w.instance_id and r.version = w.version
            and r.status = 'ready' and r.region >= f.region order by r.region, r.zone limit 1) t)
    union
    select t.instance_id, t.version, n.region, n.zone from tiers t
      cross join lateral (
        select r.region, r.zone from waybill.replicas r
          where r.tenant_id = p_tenant and r.instance_id = t.instance_id and r.version = t.version
            and r.status = 'ready' and (r.region, r.zone) > (t.region, t.zone)
          order by r.region, r.zone limit 1) n
  ), windows as (
    select c.* from (select * from tiers limit p_tiers) t cross join waybill.settings s
      cross join lateral (
        (select r.* from waybill.replicas r
          where r.tenant_id = p_tenant and r.instance_id = t.instance_id and r.version = t.version
            and r.status = 'ready' and r.region = t.region and r.zone = t.zone
            and r.slot >= hashtextextended(p_action, 0)
            and waybill.has_room(r, s.circuit_probes) and waybill.suits(r, p_topology)
          order by r.slot limit 8)
        union all
        (select r.* from waybill.replicas r
          where r.tenant_id = p_tenant and r.instance_id = t.instance_id and r.version = t.version
            and r.status = 'ready' and r.region = t.region and r.zone = t.zone
            and r.slot < hashtextextended(p_action, 0)
            and waybill.has_room(r, s.circuit_probes) and waybill.suits(r, p_topology)
          order by r.slot limit 8)
        limit 8) c
  )
  select array(select w.replica_id from windows w
    order by coalesce(w.region = p_topology->>'region', false) desc,
      coalesce(w.zone = p_topology->>'zone', false) desc, w.active_assignments,
      hashtextextended(w.replica_id, hashtextextended(p_action, 0)), w.instance_id, w.replica_id
    limit 32));

-- Why none of these instances has a replica to give, once no lock is in the way; null: one has. A host
-- whose circuit would let it take one more is full.
create function waybill.replica_fault(p_tenant text, p_level waybill.bound[], p_topology jsonb)
returns jsonb language sql volatile
begin atomic
  select jsonb_build_object('kind', 'replica_unavailable') || case
      when count(r.replica_id) = 0 then '{"why": "none_registered", "retryInMs": 5000}'::jsonb
      when not bool_or(x.live) then '{"why": "none_ready", "retryInMs": 1000}'::jsonb
      when not bool_or(x.live and x.suits) then '{"why": "wrong_topology", "retryInMs": 5000}'::jsonb
      when bool_or(x.live and x.suits and waybill.has_room(r, s.circuit_probes)) then null
      when not bool_or(x.live and x.suits and waybill.circuit_admits(r, s.circuit_probes))
        then jsonb_build_object('why', 'circuit_open', 'retryInMs', greatest(250,
          waybill.ms_until(min(r.circuit_open_until) filter (where x.live and x.suits))))
      else '{"why": "at_capacity", "retryInMs": 250}'::jsonb end
    from waybill.settings s cross join unnest(p_level) w
    left join waybill.replicas r on r.tenant_id = p_tenant and r.instance_id = w.instance_id
      and r.version = w.version
    left join lateral (select r.status = 'ready' and r.lease_ends_at > clock_timestamp() as live,
      waybill.suits(r, p_topology) as suits) x on true;
end;

-- Locks the best replica that is free; null: none has room. Skips rows that others have locked; when
-- that leaves nothing though some have room, it waits for the best one, as long as lock_timeout says
-- (then the caller meets lock_not_available).
create function waybill.lock_replica(
  p_tenant text, p_action text, p_level waybill.bound[], p_topology jsonb, p_tiers integer
) returns waybill.replicas language plpgsql as $$
declare
  r waybill.replicas;
  v_probes integer := (select circuit_probes from waybill.settings);
  v_ids text[];
begin
  v_ids := waybill.candidate_replicas(p_tenant, p_action, p_level, p_topology, p_tiers);
  if cardinality(v_ids) = 0 then return null; end if;
  select x.* into r from unnest(v_ids) with ordinality c(id, nth)
    join waybill.replicas x on x.replica_id = c.id
    where x.status = 'ready' and waybill.has_room(x, v_probes)
    order by c.nth limit 1 for update of x skip locked;
  if found then return r; end if;
  for v_try in 1..3 loop
    v_ids := waybill.candidate_replicas(p_tenant, p_action, p_level, p_topology, p_tiers);
    exit when cardinality(v_ids) = 0;
    select * into r from waybill.replicas x where x.replica_id = v_ids[1]
      and x.status = 'ready' and waybill.has_room(x, v_probes) for update;
    exit when found;
  end loop;
  if r.replica_id is null and cardinality(v_ids) > 0 then
    raise exception 'replicas are contended' using errcode = 'lock_not_available';
  end if;
  return r;
end
$$;
