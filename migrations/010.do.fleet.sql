-- The fleet: replicas with their leases, and the calls by which a host speaks for its replica.

create table waybill.replicas (
  replica_id text primary key,
  tenant_id text not null,
  instance_id text not null,
  connector_id text not null,
  version text not null,
  endpoint text not null,
  peer_principal_id text not null,
  peer_principal_kind text not null,
  peer_did text not null,
  trust_domain text not null,
  transport_profile text not null check (transport_profile in ('https', 'http-loopback')),
  region text not null,
  zone text not null,
  capacity_class text not null,
  capacity integer not null check (capacity >= 0),
  -- Where a search for candidates may begin: spreads actions over a tier of any size.
  slot bigint not null generated always as (hashtextextended(replica_id, 0)) stored,
  status text not null default 'offline'
    check (status in ('registered', 'ready', 'draining', 'drained', 'offline')),
  lease_ends_at timestamptz not null default '-infinity',
  -- Of the newest lifecycle call that was accepted.
  sequence bigint not null default 0 check (sequence >= 0),
  -- Grows with each registration.
  incarnation bigint not null default 0 check (incarnation >= 0),
  health_revision bigint not null default 0 check (health_revision >= 0),
  -- Identity of the host's idempotency store; null before its first registration.
  store_epoch text,
  -- Heartbeats in a row that contradict the status.
  contrary integer not null default 0 check (contrary >= 0),
  -- Open attempts. Neither this nor a lease or a circuit is in any index: they change all the time.
  active_assignments integer not null default 0 check (active_assignments >= 0),
  unknown_failures integer not null default 0 check (unknown_failures >= 0),
  -- null: closed; in the future: open; in the past: half open.
  circuit_open_until timestamptz,
  probes integer not null default 0 check (probes >= 0),
  -- Went offline, or began a new incarnation, with attempts that are still to be released.
  release_pending boolean not null default false,
  foreign key (tenant_id, instance_id) references waybill.instances,
  foreign key (connector_id, version) references waybill.connector_versions
) with (fillfactor = 60);
create index replicas_ready on waybill.replicas (tenant_id, instance_id, version, region, zone, slot)
  where status = 'ready';
create index replicas_by_instance on waybill.replicas (tenant_id, instance_id, version);
create index replicas_to_release on waybill.replicas (replica_id) where release_pending;

-- Answers of the newest calls of each replica: a call whose answer was lost is answered again.
create table waybill.lifecycle_requests (
  tenant_id text not null,
  replica_id text not null references waybill.replicas,
  request_id text not null check (length(request_id) between 1 and 100),
  operation text not null check (operation in ('register', 'heartbeat', 'drain', 'offline')),
  sequence bigint not null,
  answer jsonb not null,
  primary key (replica_id, request_id)
);

-- Locks the replica and says what to answer at once (null: carry the call out):
--   unknown_replica | the answer given before | stale_sequence | must_register
create function waybill.admit_lifecycle(
  p_replica text, p_request text, p_operation text, p_previous bigint
) returns jsonb language plpgsql as $$
declare
  r waybill.replicas;
  l waybill.lifecycle_requests;
begin
  select * into r from waybill.replicas where replica_id = p_replica for update;
  if not found then return jsonb_build_object('kind', 'unknown_replica'); end if;
  select * into l from waybill.lifecycle_requests
    where replica_id = p_replica and request_id = p_request;
  if found and l.operation = p_operation then return l.answer; end if;
  if found or p_previous <> r.sequence then
    return jsonb_build_object('kind', 'stale_sequence', 'sequence', r.sequence);
  end if;
  -- Whoever let the lease run out comes back as a new incarnation only.
  if p_operation <> 'register' and (r.status = 'offline' or r.lease_ends_at <= clock_timestamp()) then
    return jsonb_build_object('kind', 'must_register', 'sequence', r.sequence);
  end if;
  return null;
end
$$;

-- Keeps the answer of a call that was carried out, and the 20 before it.
create function waybill.answer_lifecycle(r waybill.replicas, p_request text, p_operation text)
returns jsonb language plpgsql as $$
declare
  v_answer jsonb := jsonb_build_object('kind', 'accepted', 'sequence', r.sequence,
    'incarnation', r.incarnation, 'status', r.status, 'leaseMs', waybill.ms_until(r.lease_ends_at));
begin
  delete from waybill.lifecycle_requests
    where replica_id = r.replica_id and sequence <= r.sequence - 20;
  insert into waybill.lifecycle_requests
    values (r.tenant_id, r.replica_id, p_request, p_operation, r.sequence, v_answer);
  return v_answer;
end
$$;

create function waybill.register_replica(
  p_replica text, p_request text, p_previous bigint, p_store_epoch text
) returns jsonb language plpgsql as $$
declare
  r waybill.replicas;
  v_answer jsonb := waybill.admit_lifecycle(p_replica, p_request, 'register', p_previous);
begin
  if v_answer is not null then return v_answer; end if;
  update waybill.replicas x set
      status = 'registered', sequence = x.sequence + 1, incarnation = x.incarnation + 1,
      health_revision = x.health_revision + 1, store_epoch = p_store_epoch,
      lease_ends_at = clock_timestamp() + make_interval(secs => s.replica_lease_ms / 1000.0),
      -- Its first good heartbeat makes it ready.
      contrary = s.replica_hysteresis - 1,
      release_pending = x.release_pending or x.active_assignments > 0
    from waybill.settings s where x.replica_id = p_replica returning x.* into r;
  return waybill.answer_lifecycle(r, p_request, 'register');
end
$$;

-- Renews the lease. Ready and not ready change after several heartbeats in a row that say so.
create function waybill.heartbeat_replica(
  p_replica text, p_request text, p_previous bigint, p_healthy boolean
) returns jsonb language plpgsql as $$
declare
  r waybill.replicas;
  v_answer jsonb := waybill.admit_lifecycle(p_replica, p_request, 'heartbeat', p_previous);
begin
  if v_answer is not null then return v_answer; end if;
  update waybill.replicas x set
      sequence = x.sequence + 1, health_revision = x.health_revision + 1,
      lease_ends_at = clock_timestamp() + make_interval(secs => s.replica_lease_ms / 1000.0),
      status = case
        when x.status = 'registered' and p_healthy and x.contrary + 1 >= s.replica_hysteresis then 'ready'
        when x.status = 'ready' and not p_healthy and x.contrary + 1 >= s.replica_hysteresis
          then 'registered'
        when x.status = 'draining' and x.active_assignments = 0 then 'drained'
        else x.status end,
      contrary = case
        when (x.status = 'registered') = p_healthy and x.status in ('registered', 'ready')
          and x.contrary + 1 < s.replica_hysteresis then x.contrary + 1
        else 0 end
    from waybill.settings s where x.replica_id = p_replica returning x.* into r;
  return waybill.answer_lifecycle(r, p_request, 'heartbeat');
end
$$;

-- From here on it serves only what is pinned to it.
create function waybill.drain_replica(p_replica text, p_request text, p_previous bigint)
returns jsonb language plpgsql as $$
declare
  r waybill.replicas;
  v_answer jsonb := waybill.admit_lifecycle(p_replica, p_request, 'drain', p_previous);
begin
  if v_answer is not null then return v_answer; end if;
  update waybill.replicas set
      sequence = sequence + 1, health_revision = health_revision + 1,
      status = case when status = 'drained' then status else 'draining' end
    where replica_id = p_replica returning * into r;
  return waybill.answer_lifecycle(r, p_request, 'drain');
end
$$;

create function waybill.offline_replica(p_replica text, p_request text, p_previous bigint)
returns jsonb language plpgsql as $$
declare
  r waybill.replicas;
  v_answer jsonb := waybill.admit_lifecycle(p_replica, p_request, 'offline', p_previous);
begin
  if v_answer is not null then return v_answer; end if;
  update waybill.replicas set
      sequence = sequence + 1, health_revision = health_revision + 1, status = 'offline',
      lease_ends_at = '-infinity', contrary = 0,
      release_pending = release_pending or active_assignments > 0
    where replica_id = p_replica returning * into r;
  return waybill.answer_lifecycle(r, p_request, 'offline');
end
$$;

-- Takes replicas offline whose lease ran out, oldest lease first; says how many. The new sequence
-- makes a heartbeat that was under way too late. Their attempts are released one by one afterwards.
create function waybill.expire_replicas(p_limit integer) returns integer language plpgsql as $$
declare
  v_count integer;
begin
  with overdue as materialized (
    select replica_id from waybill.replicas
      where status <> 'offline' and lease_ends_at <= clock_timestamp()
      order by lease_ends_at limit p_limit for update skip locked
  )
  update waybill.replicas r set
      status = 'offline', sequence = sequence + 1, health_revision = health_revision + 1, contrary = 0,
      release_pending = release_pending or active_assignments > 0
    from overdue where r.replica_id = overdue.replica_id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
