-- Deliveries whose target is an action: the attempt is open as long as its action is.

-- As before; what is in flight names the target of its own attempt and, while the action of this series
-- is not there yet, brings the stored bytes that its request is built from (null: they are missing or do
-- not match their digest).
create or replace function waybill.open_attempt(p_tenant text, p_delivery uuid, p_owner text)
returns table (answer text, info jsonb, payload bytea) language plpgsql as $$
declare
  d waybill.deliveries;
  a waybill.delivery_attempts;
  v_chain jsonb;
  v_content bytea;
  v_fail text;
  v_deadline timestamptz;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into d from waybill.deliveries
    where tenant_id = p_tenant and delivery_id = p_delivery for update;
  if not found then
    return query select 'unknown_delivery', null::jsonb, null::bytea; return;
  end if;
  if d.attend_at is null then
    return query select 'settled', waybill.delivery_facts(d), null::bytea; return;
  end if;
  v_chain := waybill.dispatch_chain(d);
  select * into a from waybill.delivery_attempts
    where tenant_id = p_tenant and delivery_id = p_delivery and closed_at is null;
  if found then
    return query select 'in_flight', waybill.delivery_facts(d) || v_chain || jsonb_build_object(
        -- The attempt's own target: the subscription may name another one by now.
        'targetId', t.target_id, 'targetKind', t.kind, 'target', t.config,
        'attempt', a.attempt_no, 'openedAt', a.opened_at,
        'endsInMs', waybill.ms_until(a.deadline_at)),
      (select r.content from waybill.artifacts r where t.kind = 'action'
        and r.tenant_id = p_tenant and r.sha256 = d.payload_sha256
        and sha256(r.content) = d.payload_sha256
        and not exists (select from waybill.actions x where x.tenant_id = p_tenant
          and x.action_id = format('%s.%s', p_delivery, d.series) and x.delivery_id = p_delivery))
      from waybill.targets t where t.tenant_id = p_tenant and t.target_id = a.target_id;
    return;
  end if;

  select content into v_content from waybill.artifacts
    where tenant_id = p_tenant and sha256 = d.payload_sha256;
  v_fail := case
    when v_content is null or sha256(v_content) <> d.payload_sha256 then 'payload_unreadable'
    else v_chain->>'broken' end;
  if v_fail is not null then
    return query select 'must_fail', waybill.delivery_facts(d) || v_chain
      || jsonb_build_object('reason', v_fail), null::bytea; return;
  end if;
  if d.state = 'Received' then
    update waybill.deliveries set state = 'Verified', version = version + 1, event_seq = event_seq + 1
      where tenant_id = p_tenant and delivery_id = p_delivery returning * into d;
    perform waybill.emit_delivery_event(d, d.event_seq,
      'connectors.deliveries.v1.delivery-received', jsonb_build_object(
        'connectorId', d.connector_id, 'subscriptionId', d.subscription_id,
        'eventType', d.event_type, 'payloadHash', encode(d.payload_sha256, 'hex')));
  end if;
  if v_chain->>'heldBy' is not null then
    update waybill.deliveries set reason = 'held', detail = v_chain->>'heldBy',
        waiting_since = coalesce(waiting_since, clock_timestamp()),
        attend_at = clock_timestamp() + interval '5 minutes'
      where tenant_id = p_tenant and delivery_id = p_delivery returning * into d;
    return query select 'held', waybill.delivery_facts(d) || v_chain, null::bytea; return;
  end if;
  if d.reason = 'held' then
    update waybill.deliveries set reason = null, detail = null, waiting_since = null
      where tenant_id = p_tenant and delivery_id = p_delivery returning * into d;
  end if;
  if d.next_attempt_at > clock_timestamp() then
    return query select 'not_due', waybill.delivery_facts(d) || jsonb_build_object(
      'dueInMs', waybill.ms_until(d.next_attempt_at)), null::bytea; return;
  end if;

  v_deadline := clock_timestamp()
    + make_interval(secs => (v_chain->'target'->>'timeoutMs')::numeric / 1000.0 + 10);
  insert into waybill.delivery_attempts
      (tenant_id, delivery_id, attempt_no, series, owner, target_id, deadline_at)
    values (p_tenant, p_delivery, d.attempts + 1, d.series, p_owner, v_chain->>'targetId', v_deadline);
  update waybill.deliveries set
      state = 'Dispatched', version = version + case when state = 'Dispatched' then 0 else 1 end,
      attempts = attempts + 1, series_attempts = series_attempts + 1,
      series_started_at = coalesce(series_started_at, clock_timestamp()),
      next_attempt_at = null, attend_at = v_deadline + interval '5 seconds'
    where tenant_id = p_tenant and delivery_id = p_delivery returning * into d;
  return query select 'opened', waybill.delivery_facts(d) || v_chain || jsonb_build_object(
    'attempt', d.attempts, 'openedAt', clock_timestamp(), 'contentType', d.content_type,
    'keptHeaders', d.kept_headers, 'evidence', d.evidence), v_content;
end
$$;

-- The newest action that was started for the delivery, with the first bytes of its result; no row: none
-- was. Its id is the delivery's and the number of a series.
create function waybill.delivery_action(p_tenant text, p_delivery uuid)
returns table (action jsonb, result_head bytea) language plpgsql as $$
declare
  v_series integer;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select d.series into v_series from waybill.deliveries d
    where d.tenant_id = p_tenant and d.delivery_id = p_delivery;
  return query select waybill.action_facts(a) || jsonb_build_object('actionId', a.action_id),
      (select substring(r.content for 1024) from waybill.artifacts r
        where r.tenant_id = p_tenant and r.sha256 = a.result_sha256)
    from generate_series(1, v_series) n
      cross join lateral waybill.find_action(p_tenant, format('%s.%s', p_delivery, n)) a
    where a.delivery_id = p_delivery
    order by a.created_at desc limit 1;
end
$$;

-- The delivery waits for its action: why, and until when it looks again by itself. Nothing is written
-- once the attempt is closed.
create function waybill.note_following(
  p_tenant text, p_delivery uuid, p_attempt integer, p_detail text, p_again_ms integer
) returns void language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  update waybill.deliveries d set reason = 'action_open', detail = p_detail,
      waiting_since = coalesce(waiting_since, clock_timestamp()),
      attend_at = clock_timestamp() + make_interval(secs => p_again_ms / 1000.0 + 60)
    where d.tenant_id = p_tenant and d.delivery_id = p_delivery and d.state = 'Dispatched'
      and exists (select from waybill.delivery_attempts t where t.tenant_id = p_tenant
        and t.delivery_id = p_delivery and t.attempt_no = p_attempt and t.closed_at is null);
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.delivery_action(text, uuid),
  waybill.note_following(text, uuid, integer, text, integer)
  to waybill_data;
