-- Sending: what is delivered through a tenant's connection, once an idempotency key. The same rows,
-- attempts, receipts and events as of what is received.

-- The connection and the operation as they are now; null: the tenant has no such connection. `fault`
-- says why nothing may be sent: connector_other | instance_revoked | instance_disabled |
-- connector_disabled | version_not_active | evidence_expired | grant_missing.
create function waybill.find_connection(
  p_tenant text, p_connector text, p_instance text, p_operation text
) returns jsonb language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  return (
    select jsonb_build_object(
      'operation', v.outbound->p_operation, 'sideEffect', waybill.sending_class(v.outbound->p_operation),
      'config', i.config, 'secretRef', i.secret_ref, 'signingSecretRefs', to_jsonb(i.signing_secret_refs),
      'operations', (select coalesce(jsonb_agg(k order by k), '[]') from jsonb_object_keys(v.outbound) k),
      'fault', case
        when i.connector_id <> p_connector then 'connector_other'
        when i.status <> 'enabled' then 'instance_' || i.status
        when not c.enabled then 'connector_disabled'
        when v.status not in ('active', 'deprecated') then 'version_not_active'
        when v.evidence_until <= clock_timestamp() then 'evidence_expired'
        when not i.grants @> array['tool'] then 'grant_missing' end)
    from waybill.instances i
    join waybill.connectors c on c.connector_id = i.connector_id
    join waybill.connector_versions v on v.connector_id = i.connector_id and v.version = i.version
    where i.tenant_id = p_tenant and i.instance_id = p_instance);
end
$$;

-- The side-effect class of an operation: its own, or that of its capability.
create function waybill.sending_class(p_operation jsonb) returns text language sql stable
  return coalesce(p_operation->>'sideEffect', (select c.side_effect from waybill.capabilities c
    where c.capability_id = p_operation->>'capabilityId'));

-- Stores bytes and delivery in one transaction, or meets the delivery of this idempotency key: accepted |
-- existing | conflict (of another request), each with deliveryId.
create function waybill.accept_sending(
  p_tenant text, p_delivery uuid,
  p_fields jsonb,       -- connectorId, instanceId, operation, idempotencyKey, contentType, attendAfterMs,
                        -- sending: as in the row
  p_payload bytea
) returns jsonb language plpgsql as $$
declare
  d waybill.deliveries;
  v_now timestamptz := clock_timestamp();
begin
  perform set_config('waybill.tenant', p_tenant, true);
  -- A concurrent copy waits here for the first one's commit, then meets its row.
  insert into waybill.deliveries
      (tenant_id, delivery_id, direction, connector_id, instance_id, external_id, event_type, dedup_key,
       state, payload_sha256, payload_bytes, content_type, sending, deadline_at, received_at, attend_at)
    values
      (p_tenant, p_delivery, 'outbound', p_fields->>'connectorId', p_fields->>'instanceId',
       p_fields->>'idempotencyKey', p_fields->>'operation', p_fields->>'idempotencyKey', 'Received',
       sha256(p_payload), length(p_payload), p_fields->>'contentType', p_fields->'sending',
       v_now + make_interval(secs => (p_fields->'sending'->'budget'->>'deadlineMs')::numeric / 1000.0),
       v_now, v_now + make_interval(secs => (p_fields->>'attendAfterMs')::integer / 1000.0))
    on conflict (tenant_id, instance_id, dedup_key) where direction = 'outbound' do nothing
    returning * into d;
  if found then
    perform waybill.keep_artifact(p_tenant, d.payload_sha256, p_payload);
    return jsonb_build_object('answer', 'accepted', 'deliveryId', d.delivery_id);
  end if;
  select * into d from waybill.deliveries
    where tenant_id = p_tenant and instance_id = p_fields->>'instanceId'
      and dedup_key = p_fields->>'idempotencyKey' and direction = 'outbound';
  if not found then
    raise exception 'an idempotency key was forgotten this moment' using errcode = 'serialization_failure';
  end if;
  return jsonb_build_object('deliveryId', d.delivery_id, 'answer', case
    when d.sending->'requestDigest' = p_fields->'sending'->'requestDigest' then 'existing'
    else 'conflict' end);
end
$$;

-- The smaller of the connector's profile and the caller's budget.
create function waybill.within_budget(d waybill.deliveries, p_profile jsonb) returns jsonb
  language sql volatile
  return p_profile || jsonb_build_object(
    'attempts', least((p_profile->>'attempts')::integer, (d.sending->'budget'->>'attempts')::integer),
    'totalSpanMs', least((p_profile->>'totalSpanMs')::bigint, case when d.deadline_at is not null then
      greatest(1, (extract(epoch from d.deadline_at - coalesce(d.series_started_at, clock_timestamp()))
        * 1000)::bigint) end));

-- Why it may not be sent under what was approved; null: it may. Looked at again for each attempt: whoever
-- was trusted, and for how long, says nothing of an effect that is still to come.
create function waybill.approval_fault(d waybill.deliveries) returns text language sql volatile
  return (
    select case
      when p.approval is null then 'approval_missing'
      when (p.approval->>'expiresAt')::timestamptz <= clock_timestamp() then 'approval_expired'
      when (t.approver->'keys' ? (p.approval->>'key')
        and (t.approver->'tenants' = 'null' or t.approver->'tenants' ? d.tenant_id)) is not true
        then 'approver_untrusted' end
    from (select d.sending->'approvals'->-1 as approval) p
    cross join waybill.settings g
    cross join lateral (select g.trusted_approvers->(p.approval->>'approver') as approver) t);

-- What a request asks of a vendor; how long it may take and what counts as its success is no part of that.
create function waybill.sent_as(p_operation jsonb, p_config jsonb) returns bytea language sql immutable
  return sha256(convert_to(jsonb_build_array(p_config,
    p_operation - array['sideEffect', 'success', 'timeoutMs', 'idempotencyWindowMs'])::text, 'UTF8'));

-- Why it is not sent any more after what may have been taken; null: nothing may have been, or the vendor
-- knows that it gets it again. restored: since the backup | key_gone | request_changed | key_forgotten.
create function waybill.sending_doubt(
  d waybill.deliveries, p_operation jsonb, p_class text, p_config jsonb
) returns text language sql volatile
  return (
    select case
      when d.restored and p_operation->>'kind' is distinct from 'action'
        and not (d.sending->>'sideEffect' = 'read' and p_class is not distinct from 'read')
        -- When it was sent since nobody knows: at the earliest when it was stored.
        and coalesce(d.received_at + k.known <= clock_timestamp(), true) then 'restored'
      when b.since is null then null
      when k.known is null then 'key_gone'
      when b.changed then 'request_changed'
      when b.since + k.known <= clock_timestamp() then 'key_forgotten' end
    from (select case when p_operation->>'kind' = 'http' and p_operation->>'idempotencyHeader' is not null
        then make_interval(secs => (p_operation->>'idempotencyWindowMs')::numeric / 1000.0) end as known) k,
      (select min(a.opened_at) as since,
          bool_or(a.sent_as is distinct from waybill.sent_as(p_operation, p_config)) as changed
        from waybill.delivery_attempts a where a.tenant_id = d.tenant_id and a.delivery_id = d.delivery_id
          and a.series = d.series and a.outcome = 'unknown' and not a.only_reads) b);

-- What dispatch_chain is for what is received: operation, connection and retry profile as they are now;
-- `broken` names what makes sending it impossible.
create function waybill.sending_chain(d waybill.deliveries) returns jsonb
  language sql volatile
  return (
    select jsonb_build_object(
      'heldBy', case
        when g.recovering_since is not null then 'recovering'
        when i.status = 'disabled' then 'instance_disabled'
        when not c.enabled then 'connector_disabled'
        when v.evidence_until <= clock_timestamp() then 'evidence_expired' end,
      'gate', null,
      'targetId', format('%s/%s/%s', coalesce(o.operation->>'kind', 'http'), d.instance_id, d.event_type),
      'targetKind', 'outbound', 'target', o.operation,
      'connection', jsonb_build_object('instanceId', i.instance_id, 'config', i.config,
        'secretRef', i.secret_ref, 'signingSecretRefs', to_jsonb(i.signing_secret_refs)),
      'requestedBy', d.sending->'requestedBy', 'policyDecision', d.sending->'policyDecision',
      'approval', d.sending->'approvals'->-1, 'budgetAttempts', d.sending->'budget'->'attempts',
      'deadlineInMs', case when d.deadline_at is not null then waybill.ms_until(d.deadline_at) end,
      'rateLimit', v.rate_limit,
      'sentAs', encode(waybill.sent_as(o.operation, i.config), 'hex'),
      'onlyReads', coalesce(o.class = 'read', false), 'doubt', o.doubt,
      'retry', waybill.within_budget(d, coalesce(v.retry_profile, g.default_retry)),
      'broken', case
        when i.status = 'revoked' then 'instance_revoked'
        when v.status = 'revoked' then 'connector_revoked'
        when o.doubt is not null then 'uncertain'
        when d.deadline_at <= clock_timestamp() then 'deadline_exceeded'
        when not i.grants @> array['tool'] then 'grant_missing'
        when o.operation is null then 'operation_unknown'
        -- The class may be another one by now, as the connection may use another version.
        when o.class = 'external' and d.sending->>'sideEffect' <> 'external' then 'approval_missing'
        when o.unapproved is not null then o.unapproved
        when o.operation->>'kind' = 'action' and exists (select from waybill.affinities f
            where f.tenant_id = d.tenant_id and f.affinity_key = 'connection/' || d.instance_id
              and f.instance_id <> d.instance_id) then 'action_conflict' end)
    from waybill.instances i
    join waybill.connectors c on c.connector_id = i.connector_id
    join waybill.connector_versions v on v.connector_id = i.connector_id and v.version = i.version
    cross join waybill.settings g
    cross join lateral (
      select n.operation, n.class, waybill.sending_doubt(d, n.operation, n.class, i.config) as doubt,
          case n.class when 'external' then waybill.approval_fault(d) end as unapproved
        from (select v.outbound->d.event_type as operation,
          waybill.sending_class(v.outbound->d.event_type) as class) n) o
    where i.tenant_id = d.tenant_id and i.instance_id = d.instance_id);

-- Why no attempt may be opened at this moment, and when to look again; why is null: it may, and has taken
-- its turn. The caller holds the delivery's row lock and opens the attempt in the same transaction.
create function waybill.sending_pace(
  d waybill.deliveries, p_chain jsonb, out why text, out again_ms bigint
) language plpgsql as $$
declare
  v_wait jsonb;
  v_text text;
begin
  if p_chain->'target'->>'kind' = 'action' then
    -- Its action goes through this connection and no other; the rate is the reservation's.
    insert into waybill.affinities (tenant_id, affinity_key, instance_id)
      values (d.tenant_id, 'connection/' || d.instance_id, d.instance_id) on conflict do nothing;
    return;
  end if;
  perform pg_advisory_xact_lock(hashtextextended(format('waybill.in_flight/%s', d.tenant_id), 0));
  if waybill.tenant_in_flight(d.tenant_id) >= (select g.tenant_in_flight from waybill.settings g) then
    why := 'tenant_busy';
    again_ms := 1000 + floor(random() * 2000);
    return;
  end if;
  begin
    perform waybill.take_rate(d.tenant_id, d.instance_id, nullif(p_chain->'rateLimit', 'null'));
  exception when sqlstate 'WB010' then
    get stacked diagnostics v_text = pg_exception_detail;
    v_wait := v_text::jsonb;
    perform waybill.keep_pace(d.tenant_id, d.instance_id, (v_wait->>'eachMs')::double precision);
    why := 'rate_limited';
    -- Whoever has waited for long asks less often: many must not ask all at the same instant.
    again_ms := (v_wait->>'retryInMs')::bigint + floor(random() * least(10000, greatest(
      coalesce((v_wait->>'eachMs')::numeric, 0),
      coalesce(extract(epoch from clock_timestamp() - d.waiting_since) * 250, 0))));
  end;
end
$$;

grant update (uncertain, restored, detail) on waybill.deliveries to waybill_operations;
revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.find_connection(text, text, text, text),
  waybill.sending_class(jsonb),
  waybill.accept_sending(text, uuid, jsonb, bytea),
  waybill.within_budget(waybill.deliveries, jsonb),
  waybill.approval_fault(waybill.deliveries),
  waybill.sent_as(jsonb, jsonb),
  waybill.sending_doubt(waybill.deliveries, jsonb, text, jsonb),
  waybill.sending_chain(waybill.deliveries),
  waybill.sending_pace(waybill.deliveries, jsonb)
  to waybill_data;
