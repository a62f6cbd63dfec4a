-- Upkeep of the fleet: what the lifecycle service asks of a replica before it believes its host, and
-- the turn of the sweep, which one process at a time has.

-- The digest that a host's manifest must have. A version's other columns are not for this role.
grant select (connector_id, version, manifest_digest) on waybill.connector_versions
  to waybill_lifecycle;
create policy lifecycle on waybill.connector_versions to waybill_lifecycle using (true);

-- A row, and not a lock: a sweep is many transactions, and no lock outlives its own.
create table waybill.sweep_turn (
  only_row boolean primary key default true check (only_row),
  free_at timestamptz not null default '-infinity'
);
insert into waybill.sweep_turn default values;

-- Takes the turn for so long; false: somebody has it, or is about to.
create function waybill.take_sweep_turn(p_hold_ms integer) returns boolean language plpgsql as $$
begin
  -- Two that ask at once: the second one has nothing to wait for.
  perform from waybill.sweep_turn where free_at <= clock_timestamp() for update skip locked;
  if not found then return false; end if;
  update waybill.sweep_turn set free_at = clock_timestamp() + make_interval(secs => p_hold_ms / 1000.0);
  return true;
end
$$;

-- Lets the next round begin after this pause. Who lost the turn meanwhile only shortens another's hold.
create function waybill.leave_sweep_turn(p_pause_ms integer) returns void language sql
begin atomic
  update waybill.sweep_turn
    set free_at = clock_timestamp() + make_interval(secs => p_pause_ms / 1000.0);
end;

-- As before, and the longest overdue first, whether its own deadline passed or its replica has gone.
create or replace function waybill.overdue_attempts(p_limit integer)
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

-- As before, and without waiting: somebody decides about that action now, and the next round looks
-- again. A false answer means that, too.
create or replace function waybill.expire_attempt(p_tenant text, p_action text, p_fence bigint)
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

grant select, update on waybill.sweep_turn to waybill_operations;
grant execute on function waybill.take_sweep_turn(integer), waybill.leave_sweep_turn(integer)
  to waybill_operations;
revoke execute on function waybill.take_sweep_turn(integer), waybill.leave_sweep_turn(integer)
  from public;

-- What a host's calls move of a replica, and nothing of what was published.
revoke update on waybill.replicas from waybill_lifecycle;
grant update (status, sequence, incarnation, health_revision, store_epoch, lease_ends_at, contrary,
  release_pending) on waybill.replicas to waybill_lifecycle;
