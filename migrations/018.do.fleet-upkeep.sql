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

grant select, update on waybill.sweep_turn to waybill_operations;
grant execute on function waybill.take_sweep_turn(integer), waybill.leave_sweep_turn(integer)
  to waybill_operations;
revoke execute on function waybill.take_sweep_turn(integer), waybill.leave_sweep_turn(integer)
  from public;
