-- Starting, moving and reserving: the action's row first, then its route, a replica, counters.

create function waybill.action_result(a waybill.actions) returns jsonb language sql immutable
  return case when a.result_outcome is not null then jsonb_build_object('outcome', a.result_outcome,
    'resultSha256', encode(a.result_sha256, 'hex'), 'errorCode', a.error_code) end;

create function waybill.action_facts(a waybill.actions) returns jsonb language sql volatile
  return jsonb_build_object('capabilityId', a.capability_id, 'state', a.state, 'version', a.version,
    'requestDigest', encode(a.request_sha256, 'hex'), 'result', waybill.action_result(a),
    'reason', a.reason, 'detail', a.detail, 'deadlineInMs', waybill.ms_until(a.deadline_at),
    'retryBudget', a.retry_budget, 'affinityKey', a.affinity_key, 'uncertain', a.uncertain,
    'repeatable', a.repeatable, 'cancelRequestedBy', a.cancel_requested_by,
    'deliveryId', a.delivery_id, 'budgetFrom', a.budget_from);

-- Stores the request and the action, or answers the one that is there: started | existing |
-- conflict (another capability or request) | stale_plan. p_fields: {deadlineMs, retryBudget,
-- affinityKey, requestedBy, attendAfterMs, deliveryId, ifCatalogRevision, policyDecision}. With the last, a new action
-- starts only while the catalog is at that revision. Of an action that is over and gone its tombstone
-- answers.
create function waybill.start_action(
  p_tenant text, p_action text, p_capability text, p_request bytea, p_fields jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  v_revision bigint;
  v_buried boolean;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  perform pg_advisory_xact_lock_shared(waybill.start_lock(p_tenant, p_action));
  v_buried := exists (select from waybill.action_tombstones
    where tenant_id = p_tenant and action_id = p_action);
  if not v_buried then
    if p_fields->>'ifCatalogRevision' is not null then
      -- Nobody publishes between the look at the revision and the end of this transaction.
      perform pg_advisory_xact_lock_shared(hashtextextended('waybill.publication', 0));
      select revision into v_revision from waybill.catalog_revision;
      if v_revision <> (p_fields->>'ifCatalogRevision')::bigint and not exists (
          select from waybill.actions where tenant_id = p_tenant and action_id = p_action) then
        return jsonb_build_object('kind', 'stale_plan', 'revision', v_revision);
      end if;
    end if;
    insert into waybill.actions (tenant_id, action_id, capability_id, request_sha256, state,
        affinity_key, requested_by, retry_budget, deadline_at, attend_at, delivery_id, policy_decision)
      values (p_tenant, p_action, p_capability, sha256(p_request), 'requested',
        p_fields->>'affinityKey', p_fields->>'requestedBy', (p_fields->>'retryBudget')::integer,
        clock_timestamp() + make_interval(secs => (p_fields->>'deadlineMs')::numeric / 1000.0),
        clock_timestamp() + make_interval(secs => (p_fields->>'attendAfterMs')::numeric / 1000.0),
        (p_fields->>'deliveryId')::uuid, nullif(p_fields->'policyDecision', 'null'))
      on conflict do nothing returning * into a;
    if found then
      perform waybill.keep_action_artifact(p_tenant, sha256(p_request), p_request);
      return jsonb_build_object('kind', 'started', 'action', waybill.action_facts(a));
    end if;
  end if;
  a := waybill.find_action(p_tenant, p_action);
  return jsonb_build_object('kind', case
      when a.capability_id = p_capability and a.request_sha256 = sha256(p_request) then 'existing'
      else 'conflict' end, 'action', waybill.action_facts(a));
end
$$;

-- Moves the action to p_to if it is in one of p_from and the state machine allows it: moved | already
-- (it is in p_to) | refused | unknown_action. p_fields: {reason, detail, waiting, attendAfterMs,
-- result: {outcome, resultSha256, errorCode}}. Closing needs a result, given here or recorded before.
-- An action that goes back to requested is proven to have had no effect, and one that stays open is
-- attended to after attendAfterMs, a minute where that is absent.
create function waybill.move_action(
  p_tenant text, p_action text, p_from text[], p_to text, p_fields jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  v_closes boolean := p_to in ('completed', 'failed', 'cancelled');
  v_result jsonb := nullif(p_fields->'result', 'null');
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  if a.state = p_to then
    return jsonb_build_object('kind', 'already', 'action', waybill.action_facts(a));
  end if;
  if a.result_outcome is not null then v_result := waybill.action_result(a); end if;
  if not a.state = any (p_from) or not waybill.action_may_follow(a.state, p_to)
     or (v_closes and v_result->>'outcome' is distinct from
       case p_to when 'completed' then 'succeeded' else p_to end) then
    return jsonb_build_object('kind', 'refused', 'action', waybill.action_facts(a));
  end if;
  update waybill.actions set state = p_to, version = version + 1,
      reason = p_fields->>'reason', detail = p_fields->>'detail',
      uncertain = uncertain and p_to <> 'requested', repeatable = false,
      waiting_since = case when (p_fields->>'waiting')::boolean
        then coalesce(waiting_since, clock_timestamp()) end,
      attend_at = case when not v_closes then clock_timestamp()
        + make_interval(secs => coalesce((p_fields->>'attendAfterMs')::numeric, 60000) / 1000.0) end,
      closed_at = case when v_closes then clock_timestamp() end,
      result_outcome = case when v_closes then v_result->>'outcome' else result_outcome end,
      result_sha256 = case when v_closes then decode(v_result->>'resultSha256', 'hex') else result_sha256 end,
      error_code = case when v_closes then v_result->>'errorCode' else error_code end
    where tenant_id = p_tenant and action_id = p_action returning * into a;
  return jsonb_build_object('kind', 'moved', 'action', waybill.action_facts(a));
end
$$;

create function waybill.route_json(r waybill.routes) returns jsonb language sql stable
  return jsonb_build_object('tenantId', r.tenant_id, 'actionId', r.action_id,
    'capabilityId', r.capability_id, 'connectorId', r.connector_id, 'instanceId', r.instance_id,
    'version', r.version, 'manifestDigest', r.manifest_digest, 'replicaId', r.replica_id,
    'endpoint', r.endpoint, 'peerPrincipalId', r.peer_principal_id,
    'peerPrincipalKind', r.peer_principal_kind, 'peerDid', r.peer_did,
    'trustDomain', r.trust_domain, 'transportProfile', r.transport_profile,
    'topology', jsonb_build_object('region', r.region, 'zone', r.zone, 'capacityClass', r.capacity_class),
    'catalogRevision', r.catalog_revision, 'bindingPolicyRevision', r.binding_policy_revision,
    'credentialRevision', r.credential_revision, 'quotaPolicyId', r.quota_policy_id,
    'assignedAt', r.assigned_at);

create function waybill.reserved_json(r waybill.routes, t waybill.route_attempts) returns jsonb
  language sql volatile
  return jsonb_build_object('kind', 'reserved', 'route', waybill.route_json(r),
    'reservation', jsonb_build_object('attemptNo', t.attempt_no, 'fence', t.fence,
      'deadlineInMs', waybill.ms_until(t.deadline_at), 'incarnation', t.incarnation,
      'healthRevision', t.health_revision, 'probe', t.probe));

-- Above every fence given out, also across a restore of the database, and above the one that a host
-- has reported, which may be at most 24 h ahead of the clock.
create function waybill.fence_after(p_last bigint, p_reported bigint) returns bigint language sql volatile
  return greatest(coalesce(p_last, 0) + 1, floor(extract(epoch from clock_timestamp()) * 1000000)::bigint,
    least(coalesce(p_reported, 0) + 1,
      floor(extract(epoch from clock_timestamp()) * 1000000)::bigint + 86400000000));

-- The attempt on a replica whose row is locked: counters, rate, replica, attempt, state. A route that
-- was taken back is replaced.
create function waybill.open_reservation(
  r waybill.routes, x waybill.replicas, b waybill.bound, p_request jsonb
) returns waybill.route_attempts language plpgsql as $$
declare
  t waybill.route_attempts;
  v_counters jsonb;
  v_again boolean := exists (select from waybill.route_attempts o
    where o.tenant_id = r.tenant_id and o.action_id = r.action_id);
begin
  v_counters := waybill.take_quotas(r.tenant_id, r.capability_id, b, v_again);
  perform waybill.take_rate(r.tenant_id, b.instance_id, b.rate_limit);
  update waybill.replicas set active_assignments = active_assignments + 1,
      probes = probes + (circuit_open_until is not null)::integer
    where replica_id = x.replica_id;
  if p_request ? 'retired' then
    update waybill.routes set (connector_id, instance_id, version, manifest_digest, replica_id,
        endpoint, peer_principal_id, peer_principal_kind, peer_did, trust_domain, transport_profile,
        region, zone, capacity_class, catalog_revision, binding_policy_revision, credential_revision,
        quota_policy_id, assigned_at, fence, generation, retired_at)
      = (select r.connector_id, r.instance_id, r.version, r.manifest_digest, r.replica_id,
        r.endpoint, r.peer_principal_id, r.peer_principal_kind, r.peer_did, r.trust_domain,
        r.transport_profile, r.region, r.zone, r.capacity_class, r.catalog_revision,
        r.binding_policy_revision, r.credential_revision, r.quota_policy_id, r.assigned_at, r.fence,
        r.generation, r.retired_at)
      where tenant_id = r.tenant_id and action_id = r.action_id;
  else
    insert into waybill.routes select (r).* on conflict (tenant_id, action_id)
      do update set fence = excluded.fence;
  end if;
  insert into waybill.route_attempts (tenant_id, action_id, attempt_no, owner, fence, replica_id,
      incarnation, health_revision, probe, counters, deadline_at)
    values (r.tenant_id, r.action_id, (p_request->>'attemptNo')::integer, p_request->>'owner',
      r.fence, x.replica_id, x.incarnation, x.health_revision, x.circuit_open_until is not null,
      v_counters,
      clock_timestamp() + make_interval(secs => (p_request->>'holdMs')::numeric / 1000.0))
    returning * into t;
  -- What is done again to find out was reconciling until now.
  if v_again then
    update waybill.actions set state = 'requested', repeatable = false
      where tenant_id = r.tenant_id and action_id = r.action_id and state = 'reconciling' and repeatable;
  end if;
  update waybill.actions set state = 'reserved', version = version + 1, waiting_since = null,
      reason = null, detail = null, attend_at = t.deadline_at + interval '5 seconds'
    where tenant_id = r.tenant_id and action_id = r.action_id;
  return t;
end
$$;

-- The first reservation of an action on one of the bindings of one priority; above the fences of a route
-- that was taken back: p_request then has its `retired` {fence, generation}. A refusal is true of the
-- moment at which its reason is found: who has got room by then is chosen after all.
create function waybill.place_action(
  a waybill.actions, p_level waybill.bound[], p_request jsonb, p_topology jsonb
) returns jsonb language plpgsql as $$
declare
  r waybill.routes;
  x waybill.replicas;
  b waybill.bound;
  v_fault jsonb;
begin
  for v_try in 1..3 loop
    -- Few fleets have so many tiers; where they do, the rest is looked at before anything is refused.
    x := waybill.lock_replica(a.tenant_id, a.action_id, p_level, p_topology,
      case v_try when 1 then 64 else 100000 end);
    exit when x.replica_id is not null;
    v_fault := waybill.replica_fault(a.tenant_id, p_level, p_topology);
    if v_fault is not null then return v_fault; end if;
  end loop;
  if x.replica_id is null then
    return jsonb_build_object('kind', 'contended', 'retryInMs', 50);
  end if;
  b := p_level[1];
  if b.instance_id <> x.instance_id then
    select w.* into b from unnest(p_level) w where w.instance_id = x.instance_id;
  end if;
  r := row(a.tenant_id, a.action_id, a.capability_id, b.connector_id, b.instance_id, b.version,
    b.manifest_digest, x.replica_id, x.endpoint, x.peer_principal_id, x.peer_principal_kind,
    x.peer_did, x.trust_domain, x.transport_profile, x.region, x.zone, x.capacity_class,
    (select revision from waybill.catalog_revision), b.policy_revision, b.credential_revision,
    b.quota_policy_id, clock_timestamp(),
    waybill.fence_after((p_request->'retired'->>'fence')::bigint, (p_request->>'aboveFence')::bigint),
    coalesce((p_request->'retired'->>'generation')::integer, 0) + 1, null)::waybill.routes;
  return waybill.reserved_json(r, waybill.open_reservation(r, x, b, p_request));
end
$$;

-- A retry: the pinned replica again, or nothing. Newer versions of the instance do not matter; the
-- evidence of the pinned one does.
create function waybill.reacquire_route(r waybill.routes, p_request jsonb) returns jsonb
  language plpgsql as $$
declare
  x waybill.replicas;
  b waybill.bound;
begin
  select i.instance_id, r.connector_id, r.version, r.manifest_digest, n.priority, n.spill, n.spread,
      n.policy_revision, r.credential_revision, n.quota_policy_id, v.rate_limit, case
        when n.instance_id is null then 'no_binding'
        when not n.enabled then 'binding_disabled'
        when i.status is distinct from 'enabled' then 'instance_disabled'
        when c.enabled is not true then 'connector_disabled'
        when v.status is null or v.status not in ('active', 'deprecated') then 'version_not_active'
        when v.evidence_until <= clock_timestamp() then 'evidence_expired'
        when k.status is distinct from 'active' then 'credential_revoked' end
    into b from (select) one
    left join waybill.bindings n on n.tenant_id = r.tenant_id
      and n.capability_id = r.capability_id and n.instance_id = r.instance_id
    left join waybill.instances i on i.tenant_id = r.tenant_id and i.instance_id = r.instance_id
    left join waybill.connectors c on c.connector_id = r.connector_id
    left join waybill.connector_versions v on v.connector_id = r.connector_id and v.version = r.version
    left join waybill.credential_revisions k on k.tenant_id = r.tenant_id
      and k.instance_id = r.instance_id and k.credential_revision = r.credential_revision;
  if b.fault is not null then
    return jsonb_build_object('kind', 'binding_unavailable', 'why', b.fault);
  end if;
  select * into x from waybill.replicas where replica_id = r.replica_id and version = r.version
    and status in ('ready', 'draining') for update;
  if x.replica_id is not null
     and waybill.has_room(x, (select circuit_probes from waybill.settings)) then
    r.fence := waybill.fence_after(r.fence, (p_request->>'aboveFence')::bigint);
    return waybill.reserved_json(r, waybill.open_reservation(r, x, b, p_request));
  end if;
  return jsonb_build_object('kind', 'replica_unavailable', 'why', 'pinned_unavailable', 'retryInMs', 1000);
end
$$;

-- One try, all or nothing: what it took is given back before a refusal is answered. An action whose route
-- was taken back chooses anew.
create function waybill.try_reserve(
  a waybill.actions, r waybill.routes, p_level waybill.bound[], p_request jsonb, p_topology jsonb
) returns jsonb language plpgsql as $$
declare
  v_detail text;
  v_answer jsonb;
begin
  if r.retired_at is not null then
    return waybill.choose_binding(a, p_request || jsonb_build_object('retired',
      jsonb_build_object('fence', r.fence, 'generation', r.generation)), p_topology);
  end if;
  if r.action_id is not null then return waybill.reacquire_route(r, p_request); end if;
  return waybill.place_action(a, p_level, p_request, p_topology);
exception
  when sqlstate 'WB010' then
    get stacked diagnostics v_detail = pg_exception_detail;
    v_answer := v_detail::jsonb;
    if v_answer->>'kind' = 'rate_limited' then
      perform waybill.keep_pace(a.tenant_id, v_answer->>'instanceId',
        (v_answer->>'eachMs')::double precision);
    end if;
    return v_answer - 'eachMs';
  when lock_not_available then
    return jsonb_build_object('kind', 'contended', 'retryInMs', 50);
end
$$;
