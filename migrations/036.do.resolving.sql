-- Resolving: where a new action of a capability, or of any capability of an interface, would go. It reads
-- the chain by which actions are routed, so what resolves can be started.

create index capabilities_by_interface on waybill.capabilities (interface_name, capability_id collate "C");

-- resolved | binding_unavailable, with what the binding of the best priority lacks. p_wanted:
-- {capabilityId} or {interfaceName}, of which the first 1,000 capabilities are looked at.
create function waybill.resolve_capability(p_tenant text, p_wanted jsonb) returns jsonb
  language plpgsql stable as $$
declare
  v_answer jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  with asked as (
      (select * from waybill.capabilities where capability_id = p_wanted->>'capabilityId')
      union all
      (select * from waybill.capabilities where interface_name = p_wanted->>'interfaceName'
        order by capability_id collate "C" limit 1000)),
    chain as materialized (
      select c.capability_id, c.interface_name, c.side_effect, c.recovery, c.contract_digest, b.*
        from asked c cross join lateral unnest(waybill.binding_chain(p_tenant, c.capability_id)) b),
    best as (
      select * from chain
        order by fault is not null, priority, instance_id, capability_id collate "C" limit 1)
  select case when best.fault is null then jsonb_build_object('kind', 'resolved',
      'interfaceName', best.interface_name, 'instanceId', best.instance_id,
      'connectorId', best.connector_id, 'version', best.version, 'provider', c.provider,
      'manifestDigest', best.manifest_digest, 'capabilities', (
        select jsonb_agg(jsonb_build_object('capabilityId', m.capability_id,
            'sideEffect', m.side_effect, 'recovery', m.recovery, 'contractDigest', m.contract_digest,
            'priority', m.priority, 'policyRevision', m.policy_revision)
            order by m.capability_id collate "C")
          from chain m where m.fault is null and m.instance_id = best.instance_id))
    else jsonb_build_object('kind', 'binding_unavailable', 'why', best.fault) end
    into v_answer from best left join waybill.connectors c on c.connector_id = best.connector_id;
  return coalesce(v_answer, jsonb_build_object('kind', 'binding_unavailable', 'why', 'no_binding'))
    || jsonb_build_object('revision', (select revision from waybill.catalog_revision));
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function waybill.resolve_capability(text, jsonb) to waybill_data;
