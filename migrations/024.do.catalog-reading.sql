-- Reading the catalog: pages of capabilities as a tenant sees them, and contracts for a plan. The readers
-- are stable functions: all of one sees the one snapshot of the statement that calls it, so no reader
-- takes a lock.

-- Pages are ordered by code unit, the same under every collation of the database.
create index bindings_by_capability on waybill.bindings (tenant_id, capability_id collate "C");
create index capabilities_by_id on waybill.capabilities (capability_id collate "C");
create index version_capabilities_by_capability on waybill.version_capabilities (capability_id);

-- The profiles of the versions by which the tenant's bindings serve the capability; null: none does.
create function waybill.served_profiles(p_tenant text, p_capability text) returns text[]
  language sql stable
  return (select case when count(*) > 0 then coalesce(array_agg(distinct p.name collate "C")
        filter (where p.name is not null), '{}') end
    from unnest(waybill.binding_chain(p_tenant, p_capability)) b
    join waybill.connector_versions v on v.connector_id = b.connector_id and v.version = b.version
    left join lateral unnest(v.profiles) as p (name) on true
    where b.fault is null);

-- The same of the active versions that offer it and have the evidence that is required of them, bound or
-- not, as far as the current tenant sees them.
create function waybill.offered_profiles(p_capability text) returns text[]
  language sql stable
  return (select case when count(*) > 0 then coalesce(array_agg(distinct p.name collate "C")
        filter (where p.name is not null), '{}') end
    from waybill.version_capabilities o
    join waybill.connectors c on c.connector_id = o.connector_id and c.enabled
    join waybill.connector_versions v on v.connector_id = o.connector_id and v.version = o.version
      and v.status = 'active' and v.evidence_until > clock_timestamp()
    left join lateral unnest(v.profiles) as p (name) on true
    where o.capability_id = p_capability);

create function waybill.capability_definition(c waybill.capabilities) returns jsonb
  language sql immutable
  return jsonb_build_object('capabilityId', c.capability_id, 'interfaceName', c.interface_name,
    'sideEffect', c.side_effect, 'recovery', c.recovery, 'requestSchema', c.request_schema,
    'resultSchema', c.result_schema, 'contractDigest', c.contract_digest);

-- Ids that a page looks at, in its order, behind p_after: one step through an index each.
create function waybill.capability_ids(p_tenant text, p_after text, p_wanted jsonb)
returns refcursor language plpgsql stable as $$
declare
  v_ids refcursor;
begin
  if p_wanted->>'capabilityId' is not null then
    open v_ids for select p_wanted->>'capabilityId' where p_wanted->>'capabilityId' collate "C" > p_after;
  elsif (p_wanted->>'unbound')::boolean then
    open v_ids for select c.capability_id from waybill.capabilities c
      where c.capability_id collate "C" > p_after order by c.capability_id collate "C";
  else
    open v_ids for with recursive ids as (
        select (select b.capability_id from waybill.bindings b
          where b.tenant_id = p_tenant and b.capability_id collate "C" > p_after
          order by b.capability_id collate "C" limit 1) as id
        union all
        select (select b.capability_id from waybill.bindings b
          where b.tenant_id = p_tenant and b.capability_id collate "C" > ids.id
          order by b.capability_id collate "C" limit 1) from ids where ids.id is not null)
      select id from ids where id is not null;
  end if;
  return v_ids;
end
$$;

-- One page. p_wanted: {search, capabilityId, interfaceName, profile, unbound}; p_after: {revision,
-- capabilityId} or null. It looks at no more than 1,000 ids and gives no more than 4 MiB of
-- definitions, but one at least: a page may be short, or empty, and go on behind `next`.
create function waybill.capability_page(
  p_tenant text, p_wanted jsonb, p_after jsonb, p_limit integer
) returns jsonb language plpgsql stable as $$
declare
  v_revision bigint;
  v_ids refcursor;
  v_id text;
  c waybill.capabilities;
  v_served text[];
  v_profiles text[];
  v_definition jsonb;
  v_found jsonb[] := '{}';
  v_at text := coalesce(p_after->>'capabilityId', '');
  -- Ids have plain letters only, which are the same under every collation of the database.
  v_search text := lower((p_wanted->>'search') collate "C");
  v_looked integer := 0;
  v_bytes bigint := 0;
  v_more boolean := false;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select revision into v_revision from waybill.catalog_revision;
  if (p_after->>'revision')::bigint <> v_revision then
    return jsonb_build_object('kind', 'stale_cursor', 'revision', v_revision);
  end if;
  v_ids := waybill.capability_ids(p_tenant, v_at, p_wanted);
  loop
    fetch v_ids into v_id;
    exit when v_id is null;
    v_more := v_looked = 1000;
    exit when v_more;
    v_looked := v_looked + 1;
    select * into c from waybill.capabilities where capability_id = v_id;
    v_profiles := null;
    if (p_wanted->>'interfaceName' is null or c.interface_name = p_wanted->>'interfaceName')
       and (v_search is null or strpos(c.capability_id, v_search) > 0
         or strpos(c.interface_name, v_search) > 0) then
      v_served := waybill.served_profiles(p_tenant, v_id);
      v_profiles := v_served;
      if v_profiles is null and (p_wanted->>'unbound')::boolean then
        v_profiles := waybill.offered_profiles(v_id);
      end if;
    end if;
    if v_profiles is not null
       and (p_wanted->>'profile' is null or p_wanted->>'profile' = any (v_profiles)) then
      v_definition := waybill.capability_definition(c)
        || jsonb_build_object('bound', v_served is not null, 'profiles', to_jsonb(v_profiles));
      v_bytes := v_bytes + octet_length(v_definition::text);
      v_more := cardinality(v_found) = p_limit or (v_bytes > 4194304 and cardinality(v_found) > 0);
      exit when v_more;
      v_found := v_found || v_definition;
    end if;
    v_at := v_id;
  end loop;
  close v_ids;
  return jsonb_build_object('kind', 'page', 'revision', v_revision, 'capabilities', to_jsonb(v_found),
    'next', case when v_more then v_at end);
end
$$;

-- Of these capabilities the contracts that the tenant sees, without what a plan does not ask for.
create function waybill.plan_contracts(p_tenant text, p_capabilities text[]) returns jsonb
  language plpgsql stable as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  return (select jsonb_build_object('revision', r.revision, 'contracts', coalesce(
      (select jsonb_agg(waybill.capability_definition(c) - 'resultSchema' || jsonb_build_object(
          'approvalNeeded', waybill.approval_needed(p_tenant, c.capability_id)))
        from waybill.capabilities c where c.capability_id = any (p_capabilities)
          and waybill.served_profiles(p_tenant, c.capability_id) is not null), '[]'))
    from waybill.catalog_revision r);
end
$$;

create function waybill.read_catalog_revision() returns bigint language sql stable
  return (select revision from waybill.catalog_revision);

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.served_profiles(text, text),
  waybill.offered_profiles(text),
  waybill.capability_definition(waybill.capabilities),
  waybill.capability_ids(text, text, jsonb),
  waybill.capability_page(text, jsonb, jsonb, integer),
  waybill.plan_contracts(text, text[]),
  waybill.read_catalog_revision()
  to waybill_data;
