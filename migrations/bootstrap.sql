-- Roles and the schema that every numbered migration builds in. Runs before each migration run, as
-- the connecting user, and changes nothing when all of it is there. Roles belong to the whole
-- server: several databases share them, hence the tolerance for "already there", also when two
-- databases are migrated at once.
do $$
declare
  v_role text;
begin
  foreach v_role in array array[
    'waybill_owner',      -- owns every object; migrations run as it
    'waybill_control',    -- publishes the catalog
    'waybill_data',       -- ingests, dispatches, reads for one tenant at a time
    'waybill_lifecycle',  -- replica leases
    'waybill_operations', -- loops and upkeep across tenants
    'waybill_observer'    -- reads
  ] loop
    begin
      execute format('create role %I nologin nosuperuser nobypassrls', v_role);
    exception when duplicate_object or unique_violation then
      null;
    end;
    -- A superuser may become any role already; anyone else needs the membership. Since Postgres 16
    -- whoever creates a role is its member without the right to become it.
    if not (select r.rolsuper from pg_roles r where r.rolname = current_user)
       and not pg_has_role(current_user, v_role, case
         when current_setting('server_version_num')::integer >= 160000 then 'set' else 'member' end)
    then
      execute format('grant %I to %I', v_role, current_user);
    end if;
  end loop;
end
$$;

create schema if not exists waybill authorization waybill_owner;
grant usage on schema waybill
  to waybill_control, waybill_data, waybill_lifecycle, waybill_operations, waybill_observer;

-- The runner's ledger. The runner would otherwise create the schema along with it, which takes a
-- right on the database that the owner does not have.
set local role waybill_owner;
create table if not exists waybill.schema_version (
  version bigint primary key,
  name text not null,
  md5 text not null,
  run_at timestamptz not null
);
