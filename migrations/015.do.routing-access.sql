-- Who may do what with actions, routes and the fleet: row-level security by tenant, grants by role.

do $$
declare
  v_table text;
begin
  foreach v_table in array array['credential_revisions', 'bindings', 'replicas', 'lifecycle_requests',
    'actions', 'routes', 'route_attempts', 'quota_counters', 'rate_limits', 'affinities'] loop
    execute format('alter table waybill.%I enable row level security', v_table);
    execute format('create policy one_tenant on waybill.%I to waybill_data, waybill_observer
      using (tenant_id = waybill.current_tenant())', v_table);
    execute format('create policy across_tenants on waybill.%I to waybill_operations
      using (true)', v_table);
  end loop;
  foreach v_table in array array['credential_revisions', 'bindings', 'replicas'] loop
    execute format('create policy publication on waybill.%I to waybill_control using (true)', v_table);
  end loop;
  -- A host's call names its replica; its key, checked before, says that it may.
  foreach v_table in array array['replicas', 'lifecycle_requests'] loop
    execute format('create policy lifecycle on waybill.%I to waybill_lifecycle using (true)', v_table);
  end loop;
end
$$;
-- An offer is visible to whom its connector is.
alter table waybill.version_capabilities enable row level security;
create policy with_its_connector on waybill.version_capabilities to waybill_data, waybill_observer
  using (exists (select from waybill.connectors c
    where c.connector_id = version_capabilities.connector_id));
create policy across_tenants on waybill.version_capabilities to waybill_operations, waybill_control
  using (true);

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;

grant select on waybill.capabilities, waybill.version_capabilities, waybill.credential_revisions,
  waybill.quota_policies, waybill.bindings, waybill.replicas
  to waybill_control, waybill_data, waybill_operations, waybill_observer;
grant insert on waybill.capabilities, waybill.version_capabilities to waybill_control;
grant insert, update on waybill.credential_revisions, waybill.quota_policies, waybill.bindings
  to waybill_control;
-- What is fixed for a replica is never updated; what its host or routing moves is not the catalog's.
grant insert (replica_id, tenant_id, instance_id, connector_id, version, endpoint, peer_principal_id,
  peer_principal_kind, peer_did, trust_domain, transport_profile, region, zone, capacity_class, capacity),
  update (capacity) on waybill.replicas to waybill_control;

grant select, insert, update on waybill.actions, waybill.routes, waybill.route_attempts,
  waybill.quota_counters, waybill.rate_limits to waybill_data;
grant select, insert on waybill.affinities to waybill_data;
grant update (active_assignments, probes, unknown_failures, circuit_open_until) on waybill.replicas
  to waybill_data, waybill_operations;
grant execute on function
  waybill.take_quota(text, text, text, integer),
  waybill.take_shared_quota(text, text, integer),
  waybill.take_quotas(text, text, waybill.bound, boolean),
  waybill.rate_due(waybill.rate_limits, double precision),
  waybill.take_rate(text, text, jsonb),
  waybill.keep_pace(text, text, double precision),
  waybill.suits(waybill.replicas, jsonb),
  waybill.circuit_admits(waybill.replicas, integer),
  waybill.has_room(waybill.replicas, integer),
  waybill.binding_chain(text, text),
  waybill.candidate_replicas(text, text, waybill.bound[], jsonb, integer),
  waybill.replica_fault(text, waybill.bound[], jsonb),
  waybill.lock_replica(text, text, waybill.bound[], jsonb, integer),
  waybill.action_result(waybill.actions),
  waybill.action_facts(waybill.actions),
  waybill.start_action(text, text, text, bytea, jsonb),
  waybill.move_action(text, text, text[], text, jsonb),
  waybill.route_json(waybill.routes),
  waybill.reserved_json(waybill.routes, waybill.route_attempts),
  waybill.fence_after(bigint, bigint),
  waybill.open_reservation(waybill.routes, waybill.replicas, waybill.bound, jsonb),
  waybill.place_action(waybill.actions, waybill.bound[], jsonb, jsonb),
  waybill.reacquire_route(waybill.routes, jsonb),
  waybill.try_reserve(waybill.actions, waybill.routes, waybill.bound[], jsonb, jsonb),
  waybill.choose_binding(waybill.actions, jsonb, jsonb),
  waybill.await_action(text, text),
  waybill.await_conversation(bigint),
  waybill.end_overdue(waybill.route_attempts),
  waybill.approval_needed(text, text),
  waybill.reserve_route(text, text, jsonb, jsonb),
  waybill.settle_route(text, text, bigint, jsonb),
  waybill.record_result(text, text, bigint, jsonb, jsonb),
  waybill.extend_reservation(text, text, bigint, integer),
  waybill.next_fence(text, text, bigint),
  waybill.read_route(text, text),
  waybill.find_capability(text, text),
  waybill.keep_late_evidence(waybill.route_attempts, jsonb)
  to waybill_data;
-- What ending an attempt takes, whoever ends it.
grant execute on function
  waybill.end_attempt(waybill.route_attempts, text, text, jsonb),
  waybill.bounded_evidence(jsonb),
  waybill.release_quota(text, text),
  waybill.release_shared_quota(text, text),
  waybill.action_may_follow(text, text),
  waybill.guard_action_state(),
  waybill.guard_route()
  to waybill_data, waybill_operations;

grant select, update on waybill.actions, waybill.routes, waybill.route_attempts,
  waybill.quota_counters to waybill_operations;
grant update (status, sequence, health_revision, contrary, release_pending) on waybill.replicas
  to waybill_operations;
grant execute on function
  waybill.overdue_cause(waybill.route_attempts),
  waybill.overdue_attempts(integer),
  waybill.expire_attempt(text, text, bigint),
  waybill.expire_replicas(integer),
  waybill.finish_releases(integer)
  to waybill_operations;

grant select on waybill.settings to waybill_lifecycle;
-- What a host's calls move of a replica, and nothing of what was published.
grant select, update (status, sequence, incarnation, health_revision, store_epoch, lease_ends_at, contrary,
  release_pending) on waybill.replicas to waybill_lifecycle;
grant select, insert, delete on waybill.lifecycle_requests to waybill_lifecycle;
grant execute on function
  waybill.ms_until(timestamptz),
  waybill.admit_lifecycle(text, text, text, bigint),
  waybill.answer_lifecycle(waybill.replicas, text, text),
  waybill.register_replica(text, text, bigint, text),
  waybill.heartbeat_replica(text, text, bigint, boolean),
  waybill.drain_replica(text, text, bigint),
  waybill.offline_replica(text, text, bigint)
  to waybill_lifecycle;

grant select on waybill.actions, waybill.routes, waybill.route_attempts, waybill.quota_counters,
  waybill.rate_limits, waybill.affinities, waybill.lifecycle_requests to waybill_observer;
